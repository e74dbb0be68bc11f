"""The interview without a model: the planned steps, answered with the note's own sentences in the patient's voice.

A step is asked if the note answers it, or if no interview leaves it out; then the patient says no, or is not sure. What
was told once is not asked again, and what no question brought up is told when the physician asks for the rest.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from cases.notes import Note
from cases.text.jargon import in_lay_words
from cases.text.note_sections import read_sections
from cases.text.words import language_of, rules_of, stem
from cases.vocabulary import Language, patterns
from nodes.reconstruction.exchanges import Exchange, WrittenSection
from nodes.reconstruction.gates import names_disease
from nodes.reconstruction.lay_speech import spoken
from nodes.reconstruction.plan import PlannedSection, PlannedStep
from nodes.reconstruction.role_setting import RoleSetting
from nodes.reconstruction.stock_replies import answer_rules, empty_words, not_in_the_note, pick, told_age_and_sex
from nodes.reconstruction.voice import Voice
from prompts import mark

_AT_ONCE = 3  # sentences in one reply
_LONGEST_REPLY = 60  # words; the next sentence waits
_SAME = 0.75  # of the words of a sentence: so much was told before, and it adds nothing
_PATTERNS = patterns("nodes.reconstruction", "patterns")
_HISTORY = (
    "chief_complaint",
    "present_illness",
    "past_history",
    "medications",
    "allergies",
    "immunizations",
    "personal_history",
    "family_history",
    "review_of_systems",
)


@dataclass
class Script:
    """The offline interview of one note, written from beginning to end."""

    note: Note
    roles: RoleSetting
    voice: Voice
    told: dict[str, tuple[str, ...]]
    only_told: bool = False
    said: list[frozenset[str]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def exchanges(self, step: PlannedStep) -> Iterator[Exchange]:
        """What becomes of one step of the plan: nothing, one exchange, or several."""
        if step.patient or step.technique in ("inform", "reassure"):
            yield Exchange(
                physician=step.physician, patient=step.patient or pick("unsure", step.name, self.note, self.voice)
            )
            return
        if step.name == "age_and_sex":
            if answer := self._age_and_sex():
                yield Exchange(physician=step.physician, patient=answer)
            return
        rule = answer_rules().get(step.name, {"sections": _HISTORY, "words_of": step.physician})
        replies = list(self._replies(rule, step))
        for number, reply in enumerate(replies):
            asked = step.physician if number == 0 else pick("more", f"{step.name}{number}", self.note, self.voice)
            yield Exchange(physician=asked, patient=reply)
        if not replies and self._belongs(step.name, rule) and not self._answered(rule):
            yield Exchange(physician=step.physician, patient=not_in_the_note(step.name, rule, self.note, self.voice))

    def _belongs(self, name: str, rule: dict[str, Any]) -> bool:
        """Whether a step is asked though the note has no answer: without a complaint, only what anybody is asked."""
        if self.only_told and name != "reason":
            return False
        grown_up = self.roles.speaker in ("self", "relative")
        complains = any(self.told.get(section) for section in ("chief_complaint", "present_illness"))
        return bool(
            rule.get("always")
            and (grown_up or not rule.get("adults"))
            and (complains or rule.get("anybody") or name == "reason")
        )

    def _replies(self, rule: dict[str, Any], step: PlannedStep) -> Iterator[str]:
        """The fresh sentences that answer a step, a few at a time; one reply unless the rest is asked for."""
        reply: list[str] = []
        most = rule.get("most", _AT_ONCE)
        for section, line in self._matching(rule):
            if line in self.used:
                continue
            self.used.add(line)
            told = spoken(line, section, self.voice)
            words = _words(told, self.voice.language)
            if not told or self._told_before(words):
                continue
            self.said.append(words)
            reply.append(told)
            full = len(reply) >= min(most, _AT_ONCE) or sum(map(_length, reply)) > _LONGEST_REPLY
            if full:
                yield self._joined(reply)
                reply = []
                if not rule.get("rest"):
                    return
        if reply:
            yield self._joined(reply)

    def _matching(self, rule: dict[str, Any]) -> Iterator[tuple[str, str]]:
        pattern = self._pattern(rule)
        for section in rule["sections"]:
            for line in self.told.get(section, ()):
                listed = _PATTERNS["listed"].match(line) and not (rule.get("rest") or rule.get("listed"))
                if section in rule.get("whole", ()) or (not listed and pattern.search(self._both_ways(line))):
                    yield section, line

    def _pattern(self, rule: dict[str, Any]) -> re.Pattern[str]:
        words = _key_words(rule["words_of"]) if "words_of" in rule else rule.get(rules_of(self.voice.language), "")
        return re.compile(rf"(?<![a-z])(?:{words})", re.IGNORECASE)

    def _both_ways(self, line: str) -> str:
        """A line as it stands and in everyday words, so that a question finds "dyspnea" by "breath"."""
        return f"{line} {in_lay_words(line, self.voice.language)}"

    def _answered(self, rule: dict[str, Any]) -> bool:
        """Whether it was told before: to ask would be to repeat, and "no" would be wrong."""
        if self._pattern(rule).pattern == self._pattern({}).pattern:
            return any(line in self.used for section in rule["sections"] for line in self.told.get(section, ()))
        known = rule.get(f"known_{rules_of(self.voice.language)}")
        pattern = re.compile(known, re.IGNORECASE) if known else self._pattern(rule)
        lines = [line for lines in self.told.values() for line in lines if not _PATTERNS["denies"].search(line)]
        return any(pattern.search(self._both_ways(line)) for line in (*self.used, *lines))

    def _told_before(self, words: frozenset[str]) -> bool:
        if not words:
            return False
        return any(len(words & before) / len(words) >= _SAME for before in self.said)

    def _age_and_sex(self) -> str:
        return told_age_and_sex(self.roles, self.note, self.voice.language)

    def _joined(self, lines: list[str]) -> str:
        return mark("space", self.voice.language).join(lines)


def script(
    note: Note, roles: RoleSetting, plan: list[PlannedSection], disease: str, only_told: bool = False
) -> list[WrittenSection]:
    """The whole interview, section by section; a section with nothing to ask is left out.

    Args:
        note: what the patient knows.
        roles: who speaks for the patient.
        plan: the steps to take.
        disease: what must not be named before the physician does.
        only_told: leave out the questions that the note does not answer.
    """
    sections = {
        name: tuple(line for line in lines if not names_disease(line, [disease]))
        for name, lines in read_sections(note.text, note.language).items()
    }
    writer = Script(note, roles, roles.voice(note.language), _with_complaint(sections), only_told)
    written = []
    for section in plan:
        exchanges = [exchange for step in section.steps for exchange in writer.exchanges(step)]
        if exchanges:
            written.append(WrittenSection(section=section.name, exchanges=exchanges))
    return written


def answer_to(question: str, note: Note, roles: RoleSetting, disease: str, heard: Iterable[str]) -> str:
    """A reply to any question: the sentences of the note that share its words and have not been said."""
    voice = roles.voice(note.language)
    said = " ".join(heard)
    sections = read_sections(note.text, note.language)
    pattern = re.compile(_key_words(question), re.IGNORECASE)
    found = [
        told
        for section in _HISTORY
        for line in sections.get(section, ())
        if not names_disease(line, [disease]) and pattern.search(line)
        if (told := spoken(line, section, voice)) and told not in said
    ][:_AT_ONCE]
    return mark("space", note.language).join(found) or pick("no", question, note, voice)


def _with_complaint(sections: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A note without a complaint opens with the first that it tells of the illness, or else of anything."""
    if sections.get("chief_complaint"):
        return sections
    for name in ("present_illness", "review_of_systems"):
        if lines := sections.get(name):
            return {**sections, "chief_complaint": lines[:1], name: lines[1:]}
    return sections


def _key_words(question: str) -> str:
    """A pattern of the words of a question that mean something."""
    words = [word for word in _words(question, language_of(question)) if len(word) > 2]
    return "|".join(map(re.escape, sorted(words))) or r"(?!)"


def _words(text: str, language: Language) -> frozenset[str]:
    if not mark("space", language):  # words run together
        signs = re.findall(r"[\u4e00-\u9fff]|\d+", text)
        return frozenset(one + other for one, other in pairwise(signs))
    return frozenset(stem(word) for word in re.findall(r"[a-z0-9]+", text.casefold()) if word not in empty_words())


def _length(text: str) -> int:
    return len(text.split()) if text.isascii() else len(text) // 2
