"""Compare a dialogue in its note's own words with the note, sentence by sentence.

Each sentence must say what one sentence of the note says: another word, side, number or polarity is a change. Real
dialogues, and those that a model words freely, use other words, whose meaning no rule can judge; the reader checks
those (``entailment``).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.jargon import in_lay_words
from cases.text.note_sections import read_sections
from cases.text.numbers import known_numbers, stated_numbers
from cases.text.sentences import sentences
from cases.text.words import stem, stems_of, words
from cases.vocabulary import Language, data_file, patterns
from llm.replies import texts_in
from llm.specs import OFFLINE
from nodes.reconstruction.answers import evades
from nodes.reconstruction.grammar import rewritten
from nodes.reconstruction.lay_speech import spoken
from nodes.reconstruction.parsed import CLOSING, Finding, ParsedDialogue, Rule, content_words, courtesies
from nodes.reconstruction.voice import Voice
from prompts import cached_with_prompts, load_words

_PATTERNS = patterns("nodes.reconstruction", "verbatim")
_NO_SIDE = patterns("nodes.reconstruction", "content")["no_side"]
_KIN, _HAD, _OF_ONESELF = (
    patterns("nodes.reconstruction", "particulars")[name] for name in ("kin", "had", "of_oneself")
)
_LISTS, _DENIALS = (data_file("nodes.reconstruction", "verbatim")[name] for name in ("list", "denials"))
_BETWEEN = frozenset(_LISTS["between"])
_TOLD_BY_PHYSICIAN = {"physical_examination", "test_results"}
_TOLD_BY_PATIENT = {"person", "past_history", "medications", "allergies", "personal_history", "family_history"}
_SIDES = frozenset({"left", "right"})
_CHINESE_VOICES = (Voice("zh"), Voice("zh", "child"))  # whose rules change more than the terms
LONG: Mapping[Language, int] = {"en": 4, "zh": 8}  # words (Chinese: pairs of characters) that do not coincide by chance
COPIED, SHARE = 3, 0.3  # minimum of long statements from the note; their minimum share of all long ones


@dataclass(frozen=True)
class _Part:
    """A sentence or clause: its content, and whether it denies (None if uncertain)."""

    text: str
    language: Language
    after_denial: bool = False

    @cached_property
    def lay(self) -> str:
        """The text with its terms in everyday words."""
        return in_lay_words(self.text, self.language)

    @cached_property
    def stems(self) -> frozenset[str]:
        return _content_words(self.text, self.language)

    @property
    def is_long(self) -> bool:
        """Whether it has so many content words that they do not coincide with others by chance."""
        return len(self.stems) >= LONG[self.language]

    @cached_property
    def all_stems(self) -> frozenset[str]:
        """The content words, including those of the version in everyday words, and of the patient's or a parent's.

        English abbreviations (2 ppd) are spelled out.
        """
        chinese = [spoken(self.text, "", voice) for voice in _CHINESE_VOICES] if self.language == "zh" else []
        said = chinese or [rewritten(self.text, "begin")]
        return _content_words(" ".join([self.text, self.lay, *said]), self.language)

    @cached_property
    def numbers(self) -> frozenset[float]:
        return known_numbers(f"{self.text} {self.lay}")

    @cached_property
    def denies(self) -> bool | None:
        found = {bool(_PATTERNS["denies"].search(text)) for text in (self.text, self.lay)}
        return None if len(found) > 1 or (found == {False} and self.after_denial) else found.pop()

    @cached_property
    def clauses(self) -> "list[_Part]":
        found, denied = [], False
        for text in _PATTERNS["clause"].split(self.text):
            found.append(_Part(text, self.language, after_denial=denied and self.language != "zh"))
            # A denial may cover the following clauses too; Chinese repeats it in each.
            denied = denied or found[-1].denies is True
        return found


def _lines(parsed: ParsedDialogue) -> list[tuple[str, str]]:
    """Return the lines of the note, each with its section."""
    sections = read_sections(parsed.dialogue.note, parsed.language)
    return [(section, line) for section, lines in sections.items() for line in lines]


def changed(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report each statement that no sentence of the note says, in a dialogue that uses the note's own words.

    What a model adds is none of the note's: the disease that it infers, with basis and tests, in the closing sections,
    and courtesies ("Go ahead."). Other words than the note's are no change there, unless the patient's or a relative's
    illness is told.
    """
    lines = [line for _, line in _lines(parsed)]  # which may begin within a sentence, behind a name and an age
    note = [_Part(text, parsed.language) for text in dict.fromkeys([*sentences(parsed.dialogue.note), *lines])]
    clauses = [clause for sentence in note for clause in sentence.clauses]
    spoken_parts = [(number, role, _Part(text, parsed.language)) for number, role, text in parsed.statements]
    stated = [one for one in spoken_parts if one[2].stems]
    matches = [[one for one in note if part.stems <= one.all_stems] for *_, part in stated]
    by_rules = parsed.dialogue.models == [OFFLINE]  # which only use the note's words
    if not by_rules:
        of_note = [bool(found) for (*_, part), found in zip(stated, matches, strict=True) if part.is_long]
        if sum(of_note) < max(COPIED, SHARE * len(of_note)):
            return
    known = frozenset().union(*(one.all_stems for one in note))
    asked = {number: _content_words(before, parsed.language) - known for number, before, _ in parsed.replied}
    closing = _start_of_closing(parsed)
    for (number, role, part), found in zip(stated, matches, strict=True):
        if not (found or by_rules) and _is_added(part, role, asked.get(number, frozenset()), number > closing):
            continue
        if fault := _fault(part, found, note, clauses):
            yield fault, number
    if by_rules:
        yield from _says_nothing(parsed)


def _start_of_closing(parsed: ParsedDialogue) -> int:
    """Return the turn before what a model infers is told; the number of turns if nothing is inferred."""
    sections = parsed.dialogue.sections
    history = max((at for name, at in sections.items() if name not in CLOSING), default=0)
    starts = [at for name, at in sections.items() if name in CLOSING and at > history and parsed.dialogue.inferred]
    return min(starts, default=len(parsed.dialogue.messages))


def _is_added(part: _Part, role: str, asked: frozenset[str], in_closing: bool) -> bool:
    """Whether a statement is none of the note's.

    It is of the closing, and tells no history; or it is a courtesy; or the patient says only no, or not sure, perhaps
    with words of the question that the note does not have (``asked``). The writer has this said beyond the note.
    """
    of_history = _KIN.search(part.text) or (role == PATIENT and _OF_ONESELF.search(part.text))
    beside = courtesies() - stems_of(_LISTS["telling"])
    if role == PATIENT and _only_denies(part):
        beside |= _of_denials(part.language) | asked
    return (in_closing and not of_history) or part.stems <= beside


def _only_denies(part: _Part) -> bool:
    """Whether all that a statement says, on both sides of a contrast, is denied or not known."""
    found = (_Part(text.strip(), part.language) for text in _PATTERNS["contrast"].split(part.text))
    return all(one.denies or evades(one.text) for one in found if one.stems)


def _fault(part: _Part, found: list[_Part], note: list[_Part], clauses: list[_Part]) -> str | None:
    """Return what a statement changes; None if nothing. ``found`` are the sentences of the note with its words."""
    if not found:
        nearest = max(note, key=lambda one: len(one.all_stems & part.stems))
        new_words = ", ".join(sorted(part.stems - nearest.all_stems))
        return f"{part.text!r}: no sentence of the note says this with {new_words}"
    if new := min((stated_numbers(part.text, part.language).keys() - one.numbers for one in found), key=len):
        numbers = ", ".join(f"{value:g}" for value in sorted(new))
        return f"{part.text!r}: the note does not say {numbers} there"
    if reversed_clause := next((one for one in part.clauses if _is_reversed(one, clauses)), None):
        return f"{reversed_clause.text.strip()!r}: the note has {found[0].text!r}"
    return None


def _says_nothing(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report bare answers ("No."), and questions that their own turn answers: the rules write neither."""
    beside = courtesies() - content_words(parsed.note, parsed.language)
    for number, asked, reply in parsed.replied:
        said = content_words(reply, parsed.language) - beside
        if parsed.language == "zh":
            said = frozenset(pair for pair in said if _BETWEEN.isdisjoint(pair))
        if _PATTERNS["asks"].search(asked) and not said:
            yield f"{reply!r} tells nothing of the note", number
        before = sentences(asked)[:-1]
        if not asked.endswith(("?", "？")) and any(_PATTERNS["asks"].search(one) for one in before):
            yield f"{asked!r} answers its own question", number - 1


def by_the_other(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a finding told by the patient, a history told by the physician, or a relative's illness as one's own.

    A sentence is recognised by words that only that part of the note has. Physicians who word freely may sum up the
    history.
    """
    note = [(section, _Part(line, parsed.language)) for section, line in _lines(parsed)]
    by_rules = parsed.dialogue.models == [OFFLINE]
    of_child = any(
        message.role == PHYSICIAN and _PATTERNS["of_child"].search(message.content)
        for message in parsed.dialogue.spoken
    )
    for number, role, text in parsed.statements:
        part = _Part(text, parsed.language)
        found = [(section, one) for section, one in note if part.stems and part.stems <= one.all_stems]
        sections = {section for section, _ in found}
        others = _TOLD_BY_PHYSICIAN if role == PATIENT else _TOLD_BY_PATIENT if by_rules else set[str]()
        if part.is_long and found and sections <= others:
            yield f"{text!r} is from {', '.join(sorted(sections))}, which is for the other speaker to tell", number
        own = role == PATIENT and _HAD.search(text) and not _KIN.search(text) and not of_child
        if own and found and all(_KIN.search(_items_about(part, one)) for _, one in found):
            yield f"{text!r}: the note has {found[0][1].text!r}", number


def _items_about(part: _Part, line: _Part) -> str:
    """Return the items of a line ("lack of friends; trouble in the family") that have a word of a statement."""
    return ";".join(item for item in line.text.split(";") if part.stems & _Part(item, line.language).all_stems)


def _is_reversed(clause: _Part, clauses: list[_Part]) -> bool:
    """Return whether a clause has the opposite polarity of all clauses of the note with its words."""
    if clause.denies is None or not clause.stems:
        return False
    found = [one.denies for one in clauses if clause.stems <= one.all_stems]
    return bool(found) and set(found) == {not clause.denies}


@cached_with_prompts
def _of_denials(language: Language) -> frozenset[str]:
    """Return the content words of replies that say only no, or not sure."""
    return _content_words(_DENIALS[language], language)


@lru_cache(maxsize=1 << 13)  # as `content_words`
def _content_words(text: str, language: Language) -> frozenset[str]:
    """Return the content words of a text, without stock phrases of interviews.

    They are stems, and sides with the word that follows; for Chinese, pairs of characters.
    """
    if language == "zh":
        return frozenset(pair for pair in _pairs(text) - _stock_words(language) if _BETWEEN.isdisjoint(pair))
    text = _PATTERNS["owner"].sub("", text)
    own = {one for one in content_words(text, language) - _stock_words(language) - _SIDES if not one[0].isdigit()}
    row = [stem(word) for word in words(_NO_SIDE.sub(" ", text))]
    sides = {side for one, other in pairwise([*row, ""]) if one in _SIDES for side in (one, f"{one} {other}")}
    return frozenset(own | {side for side in sides if side in _SIDES or side.split()[-1] in own})


def _pairs(text: str) -> set[str]:
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    return {one + other for run in runs for one, other in pairwise(run)}


@cached_with_prompts
def _stock_words(language: Language) -> frozenset[str]:
    """Return the words of the offline interview's own statements, without its questions."""
    phrases: list[Any] = [load_words(f"reconstruction/{name}", language) for name in ("words", "interview_plan")]
    speech = data_file("nodes.reconstruction", "lay_speech")
    # Chinese: all phrases of the patient too, since the list of common words has none of their pairs.
    of_speech = [rule[said] for rule in speech["zh"] for said in ("self", "family") if said in rule]
    phrases.append(of_speech if language == "zh" else [f"{stock['say']}." for stock in speech["stock"]])
    stated = " ".join(text for part in texts_in(phrases) for text in sentences(part) if not text.endswith(("?", "？")))
    if language == "zh":
        return frozenset(_pairs(stated))
    return content_words(stated, language) | stems_of(_LISTS["added"])


RULES: Mapping[str, Rule] = {"sentences_of_the_note": changed, "told_by_who_knows": by_the_other}
