"""The offline interview: only what the note has, one question for each section, and its sentences as replies.

The patient tells the history in the first person and in everyday words; the physician tells the findings and the note's
conclusions. What is not in the note is not asked, so the length follows the note.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any

from cases.notes import Note
from cases.text.note_sections import claimed_by
from cases.vocabulary import Language
from nodes.reconstruction.exchanges import Exchange, SectionName, WrittenSection
from nodes.reconstruction.grammar import PATTERNS, settled
from nodes.reconstruction.lay_speech import capitalised, spoken, told_to
from nodes.reconstruction.naming import names_disease
from nodes.reconstruction.parsed import content_words, denies_something
from nodes.reconstruction.role_setting import RoleSetting
from nodes.reconstruction.voice import Voice
from prompts import load_words, mark

_LONGEST = 45  # words after which a turn takes no further sentence
_MONTHS_COUNT = 3.0  # years of age up to which months are told
_BRIEF = 30  # characters
_NEARLY = 0.0006  # years of rounding error of an age

# The section of the interview in which each section of the note is told by the patient, or reported by the physician.
_TOLD: Mapping[str, SectionName] = {
    "chief_complaint": "chief_complaint",
    "person": "general_condition",
    "present_illness": "present_illness",
    "past_history": "past_history",
    "medications": "past_history",
    "allergies": "past_history",
    "immunizations": "past_history",
    "personal_history": "risk_factors",
    "family_history": "risk_factors",
    "review_of_systems": "review_of_systems",
}
_REPORTED: Mapping[str, SectionName] = {
    "physical_examination": "physical_examination",
    "test_results": "physical_examination",
    "assessment": "initial_diagnosis",
    "differentials": "initial_diagnosis",
    "plan": "confirmatory_tests",
}


def script(note: Note, roles: RoleSetting, disease: str, at_once: int = 2) -> list[WrittenSection]:
    """Write the whole interview, section by section; sections without content in the note are left out."""
    words, voice = load_words("reconstruction/words", note.language), roles.voice(note.language)
    more, listen, further = (cycle(_rotated(words[name], note.id)) for name in ("more", "listen", "further"))
    of_child = roles.speaker not in ("self", "relative")
    sections = _with_complaint(_with_earlier_illnesses(note), voice)
    written: dict[SectionName, list[Exchange]] = defaultdict(list)
    replies_so_far: set[str] = set()  # the occupation may be listed with the habits too
    for part, name in _TOLD.items():
        lines = [line for line in sections.get(part, ()) if not names_disease(line, [disease])]
        lines = _without_what_is_told(lines, [*sections.get("chief_complaint", ()), *lines], note.language)
        spoken_lines = dict.fromkeys(spoken(line, part, voice) for line in lines)
        replies = [each for each in spoken_lines if each and each not in replies_so_far]
        replies_so_far.update(replies)
        if part == "person":
            replies = [*_age(roles, words, voice), *replies]
        ways = words["ask_of_child" if of_child and part in words["ask_of_child"] else "ask"][part]
        for number, reply in enumerate(_joined_turns(replies, at_once, note.language)):
            asked = next(more) if number else _addressed(_choice(ways, note.id), roles, words)
            written[name].append(Exchange(physician=asked, patient=reply))
    for part, name in _REPORTED.items():
        findings = filter(None, (told_to(line, voice) for line in sections.get(part, ())))
        for number, findings_now in enumerate(_joined_turns(findings, at_once, note.language)):
            lead = next(further) if number else _choice(words["tell"][part], note.id)
            told = f"{lead}{mark('space', note.language)}{findings_now}"
            written[name].append(Exchange(physician=told, patient=next(listen)))
    if written and written.keys().isdisjoint(_TOLD.values()):  # a check-up without complaint
        reason = words["look_over" if voice.itself else "look_over_family"]
        asked = _addressed(_choice(words["ask"]["chief_complaint"], note.id), roles, words)
        written = {"chief_complaint": [Exchange(physician=asked, patient=reason)], **written}
    return [WrittenSection(section=name, exchanges=exchanges) for name, exchanges in written.items()]


def answer_to(question: str, note: Note, roles: RoleSetting, disease: str, heard: Iterable[str]) -> str:
    """Answer any question with an unsaid sentence of the history that shares a word, or else with a no."""
    voice, said_before = roles.voice(note.language), " ".join(heard)
    asked = set(re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]{2}", question.casefold()))
    for part, lines in note.sections.items():
        for line in lines if part in _TOLD else ():
            reply = spoken(line, part, voice)
            usable = reply and reply not in said_before and not names_disease(line, [disease])
            if usable and any(word in f"{line} {reply}".casefold() for word in asked):
                return reply
    return str(_choice(load_words("reconstruction/words", note.language)["no"], f"{note.id}{question}"))


def _with_earlier_illnesses(note: Note) -> dict[str, tuple[str, ...]]:
    """Tell an earlier illness among the past history where a Chinese note has it, in brief, in the present illness."""
    sections = dict(note.sections)
    lines = sections.get("present_illness", ()) if note.language == "zh" else ()
    earlier = [line for line in lines if len(line) <= _BRIEF and claimed_by(line, "zh") == "past_history"]
    if earlier:
        sections["present_illness"] = tuple(line for line in lines if line not in earlier)
        sections["past_history"] = (*earlier, *sections.get("past_history", ()))
    return sections


def _with_complaint(sections: Mapping[str, tuple[str, ...]], voice: Voice) -> dict[str, tuple[str, ...]]:
    """Use the first sentence of the present illness as the complaint if the note has none that is said."""
    lines = [line for line in sections.get("present_illness", ()) if spoken(line, "present_illness", voice)]
    if not lines or any(spoken(line, "chief_complaint", voice) for line in sections.get("chief_complaint", ())):
        return dict(sections)
    return {**sections, "chief_complaint": tuple(lines[:1]), "present_illness": tuple(lines[1:])}


def _without_what_is_told(lines: Iterable[str], told: Iterable[str], language: Language) -> list[str]:
    """Drop from lists of further symptoms ("Other symptoms: cough; fever") those that another sentence tells too."""
    begins = PATTERNS["list_of_symptoms"]
    others = [(content_words(line, language), denies_something(line)) for line in told if not begins.match(line)]

    def is_told(item: str) -> bool:
        stems, denies = content_words(item, language), denies_something(item)
        return any(stems <= other and denies == denied for other, denied in others)

    kept = []
    for line in lines:
        if heading := begins.match(line):
            items = line[heading.end() :].rstrip(" .").split(";")
            new = [item for item in items if item.strip() and not is_told(item)]
            kept += [heading[0] + ";".join(new)] if new else []
        elif line:
            kept.append(line)
    return kept


def _age(roles: RoleSetting, words: Mapping[str, Any], voice: Voice) -> list[str]:
    """State the age in the largest unit in which it is a whole number; empty if there is no phrase for it.

    From three years on, nobody counts the months.
    """
    age_years = roles.age_years or 0.0
    age_years = age_years if age_years < _MONTHS_COUNT else age_years // 1
    for unit, per_year in (("years", 1.0), ("months", 12.0), ("weeks", 365.25 / 7), ("days", 365.25)):
        count = age_years * per_year
        if round(count) > (unit != "days") and abs(count - round(count)) < _NEARLY * per_year:
            phrase = words["age"].get(unit if roles.speaker != "self" else "self" if unit == "years" else "")
            return [capitalised(settled(phrase.format(round(count)), voice))] if phrase else []
    return []


def _joined_turns(lines: Iterable[str], at_once: int, language: Language) -> Iterator[str]:
    """Join sentences into turns that are easy to follow."""
    turn: list[str] = []
    for line in lines:
        if turn and (len(turn) >= at_once or sum(map(_length, (*turn, line))) > _LONGEST * max(1, at_once // 2)):
            yield mark("space", language).join(turn)
            turn = []
        turn.append(line)
    if turn:
        yield mark("space", language).join(turn)


def _addressed(text: str, roles: RoleSetting, words: Mapping[str, Any]) -> str:
    """Address the question to the patient, or phrase it about the person for whom the family speaks."""
    form = words["of"][roles.speaker]
    return text.replace("<your>", form[1]).replace("<you>", form[0])


def _choice(ways: list[str], place: str) -> str:
    """Choose one of several wordings, always the same for one place."""
    return _rotated(ways, place)[0]


def _rotated(ways: list[str], place: str) -> list[str]:
    start = int(hashlib.sha256(place.encode()).hexdigest(), 16) % len(ways)
    return [*ways[start:], *ways[:start]]


def _length(text: str) -> int:
    return len(text.split()) if text.isascii() else len(text) // 2
