"""The interview without a model: what the note holds and nothing else, a question of each section and its sentences.

The patient says the history in the first person and in everyday words, the physician the findings and what the note
itself concludes. What the note does not tell is not asked, so the length follows the note.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any

from cases.notes import Note
from cases.vocabulary import Language
from nodes.reconstruction.exchanges import Exchange, SectionName, WrittenSection
from nodes.reconstruction.gates import names_disease
from nodes.reconstruction.grammar import settled
from nodes.reconstruction.lay_speech import capitalised, spoken, told_to
from nodes.reconstruction.role_setting import RoleSetting
from nodes.reconstruction.voice import Voice
from prompts import load_words, mark

_LONGEST = 45  # words of a turn, about; the next sentence waits
_NEARLY = 0.0006  # years by which a rounded age may be off

# Which sections of a note each section of the interview tells; the physician tells those of the second table.
_TOLD: Mapping[SectionName, tuple[str, ...]] = {
    "chief_complaint": ("chief_complaint",),
    "general_condition": ("person",),
    "present_illness": ("present_illness",),
    "past_history": ("past_history", "medications", "allergies", "immunizations"),
    "risk_factors": ("personal_history", "family_history"),
    "review_of_systems": ("review_of_systems",),
}
_REPORTED: Mapping[SectionName, tuple[str, ...]] = {
    "physical_examination": ("physical_examination", "test_results"),
    "initial_diagnosis": ("assessment", "differentials"),
    "confirmatory_tests": ("plan",),
}
HISTORY = tuple(name for names in _TOLD.values() for name in names)


def script(note: Note, roles: RoleSetting, disease: str, at_once: int = 2) -> list[WrittenSection]:
    """The whole interview, section by section; a section of which the note tells nothing is left out."""
    words, voice = load_words("reconstruction/words", note.language), roles.voice(note.language)
    sections = _with_complaint(note.sections, voice)
    more = cycle(_turned(words["more"], note.id))
    written = []
    said: set[str] = set()  # the work may stand among the habits too
    for name, parts in _TOLD.items():
        exchanges = []
        for part in parts:
            lines = [line for line in sections.get(part, ()) if not names_disease(line, [disease])]
            spoken_lines = dict.fromkeys(spoken(line, part, voice) for line in lines)
            told = [each for each in spoken_lines if each and each not in said]
            said.update(told)
            if part == "person":
                told = [*_age(roles, words, voice), *told]
            for number, reply in enumerate(_together(told, at_once, note.language)):
                of_child = roles.speaker not in ("self", "relative")
                ways = words["ask_of_child" if of_child and part in words["ask_of_child"] else "ask"][part]
                asked = next(more) if number else _addressed(_one(ways, note.id), roles, words)
                exchanges.append(Exchange(physician=asked, patient=reply))
        if exchanges:
            written.append(WrittenSection(section=name, exchanges=exchanges))
    listen, further = (cycle(_turned(words[name], note.id)) for name in ("listen", "further"))
    for name, parts in _REPORTED.items():
        exchanges = []
        for part in parts:
            findings = filter(None, (told_to(line, voice) for line in sections.get(part, ())))
            for number, told_now in enumerate(_together(findings, at_once, note.language)):
                lead = next(further) if number else _one(words["tell"][part], note.id)
                exchanges.append(
                    Exchange(physician=f"{lead}{mark('space', note.language)}{told_now}", patient=next(listen))
                )
        if exchanges:
            written.append(WrittenSection(section=name, exchanges=exchanges))
    if written and not any(part.section in _TOLD for part in written):  # a check-up: nothing is complained of
        reason = words["look_over" if voice.itself else "look_over_family"]
        asked = _addressed(_one(words["ask"]["chief_complaint"], note.id), roles, words)
        opening = WrittenSection(section="chief_complaint", exchanges=[Exchange(physician=asked, patient=reason)])
        written.insert(0, opening)
    return written


def answer_to(question: str, note: Note, roles: RoleSetting, disease: str, heard: Iterable[str]) -> str:
    """A reply to any question: a sentence of the history that shares its words and has not been said."""
    voice, said = roles.voice(note.language), " ".join(heard)
    asked = set(re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]{2}", question.casefold()))
    for part, lines in note.sections.items():
        for line in lines if part in HISTORY else ():
            told = spoken(line, part, voice)
            known = told and told not in said and not names_disease(line, [disease])
            if known and any(word in f"{line} {told}".casefold() for word in asked):
                return told
    return str(_one(load_words("reconstruction/words", note.language)["no"], f"{note.id}{question}"))


def _with_complaint(sections: Mapping[str, tuple[str, ...]], voice: Voice) -> dict[str, tuple[str, ...]]:
    """A note without a complaint opens with the first that the patient can tell of the illness."""
    if sections.get("chief_complaint"):
        return dict(sections)
    lines = [line for line in sections.get("present_illness", ()) if spoken(line, "present_illness", voice)]
    if not lines:
        return dict(sections)
    return {**sections, "chief_complaint": tuple(lines[:1]), "present_illness": tuple(lines[1:])}


def _age(roles: RoleSetting, words: Mapping[str, Any], voice: Voice) -> list[str]:
    """The age in the longest unit of which it is some: a child under two speaks through others."""
    for unit, per_year in (("years", 1.0), ("months", 12.0), ("weeks", 365.25 / 7), ("days", 365.25)):
        count = (roles.age_years or 0.0) * per_year
        if round(count) > (unit != "days") and abs(count - round(count)) < _NEARLY * per_year:
            said = words["age"].get(unit if roles.speaker != "self" else "self" if unit == "years" else "")
            return [capitalised(settled(said.format(round(count)), voice))] if said else []
    return []


def _together(lines: Iterable[str], at_once: int, language: Language) -> Iterator[str]:
    """Sentences in turns that one can follow."""
    turn: list[str] = []
    for line in lines:
        if turn and (len(turn) >= at_once or sum(map(_length, (*turn, line))) > _LONGEST * max(1, at_once // 2)):
            yield mark("space", language).join(turn)
            turn = []
        turn.append(line)
    if turn:
        yield mark("space", language).join(turn)


def _addressed(text: str, roles: RoleSetting, words: Mapping[str, Any]) -> str:
    """The question to the patient, or about the one for whom the family speaks."""
    form = words["of"]["self" if roles.speaker == "self" else roles.speaker]
    return text.replace("<your>", form[1]).replace("<you>", form[0])


def _one(ways: list[str], place: str) -> str:
    """One of several ways to say it, always the same at the same place."""
    return _turned(ways, place)[0]


def _turned(ways: list[str], place: str) -> list[str]:
    start = int(hashlib.sha256(place.encode()).hexdigest(), 16) % len(ways)
    return [*ways[start:], *ways[:start]]


def _length(text: str) -> int:
    return len(text.split()) if text.isascii() else len(text) // 2
