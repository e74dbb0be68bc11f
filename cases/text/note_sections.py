"""A clinical note taken apart: which sentence belongs to which section of the SOAP order (CliniChat, section 3.1).

Headings are taken at their word. A sentence that stands under none goes to the section whose words it holds; the
first says why the patient comes, and whatever nothing claims is of the present illness.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cases.text.sentences import sentences
from cases.text.words import HAN, rules_of
from cases.vocabulary import Language, patterns, word_list

_NEVER = r"(?!)"
_PATTERNS = patterns("cases", "vocabularies/patterns")
_FINDINGS = ("physical_examination", "test_results")


@dataclass(frozen=True)
class Section:
    """One section of a note, and how it is known."""

    name: str
    en: str
    zh: str
    headings: str
    told: dict[Language, re.Pattern[str]]
    part: str  # complaint, history or results: what an interview needs to be tried on a note; else empty

    def is_headed(self, name: str) -> bool:
        """Whether real notes put this name above it."""
        return re.fullmatch(self.headings, name, re.IGNORECASE) is not None

    def heading(self, language: Language) -> str:
        """What we write above it."""
        return self.zh if language == "zh" else self.en


@cache
def note_sections() -> dict[str, Section]:
    """Every section by name, in the order of a note."""
    entries = word_list("note_sections")["section"]
    return {
        entry["name"]: Section(
            name=entry["name"],
            en=entry["en"],
            zh=entry["zh"],
            headings="|".join((re.escape(entry["en"]), re.escape(entry["zh"]), entry["headings"])),
            told={
                "en": re.compile(entry.get("told_en", _NEVER), re.IGNORECASE),
                "zh": re.compile(entry.get("told_zh", _NEVER)),
            },
            part=entry.get("part", ""),
        )
        for entry in entries
    }


def heading(name: str, language: Language) -> str:
    """What we write above a section."""
    return note_sections()[name].heading(language)


@cache
def read_sections(text: str, language: Language) -> dict[str, tuple[str, ...]]:
    """The sentences of a note by section, in the order of the sections; what is not there has no entry."""
    found: dict[str, list[str]] = {name: [] for name in note_sections()}
    for name, block in _blocks(text):
        for section, told in _sorted(block, language) if name is None else ((name, line) for line in sentences(block)):
            found[section].append(told)
    found["present_illness"], examined = _until_examined(found["present_illness"])
    found["physical_examination"] = [*examined, *found["physical_examination"]]
    of_family = [line for line in found["present_illness"] if _PATTERNS["of_family"].match(line)]
    found["present_illness"] = [line for line in found["present_illness"] if line not in of_family]
    found["family_history"] += of_family
    # One heading often stands over both: the family's illnesses and the patient's own habits.
    mixed, own = found["family_history"], _of_oneself(found["family_history"], language)
    found["personal_history"] += own
    found["family_history"] = [line for line in mixed if line not in own]
    return {name: tuple(dict.fromkeys(lines)) for name, lines in found.items() if lines}


def _of_oneself(lines: list[str], language: Language) -> list[str]:
    """Of lines about family and patient, the patient's; "he" and "this" go on with what was told before."""
    personal, own, oneself = note_sections()["personal_history"].told[rules_of(language)], [], True
    for line in lines:
        told = personal.search(line) is not None or (oneself and _PATTERNS["goes_on"].match(line) is not None)
        oneself = told and _PATTERNS["kin_in_note_sections"].search(line) is None
        own += [line] * oneself
    return own


def _until_examined(lines: list[str]) -> tuple[list[str], list[str]]:
    """A history that goes over into the examination, parted; what tells of the patient again is history again."""
    told: list[str] = []
    examined: list[str] = []
    for line in lines:
        if _PATTERNS["examined"].match(line) or (examined and not _PATTERNS["patient_again"].match(line)):
            examined.append(line)
        else:
            told.append(line)
    return told, examined


def _blocks(text: str) -> Iterator[tuple[str | None, str]]:
    """The text under each heading; None for what stands under no heading."""
    pattern = _heading_pattern()
    start, name = 0, None
    for match in pattern.finditer(text):
        if block := text[start : match.start()].strip(" \t\r\n，,"):
            yield name, block
        start, name = match.end(), match.lastgroup
    if block := text[start:].strip():
        yield name, block


@cache
def _heading_pattern() -> re.Pattern[str]:
    named = "|".join(f"(?P<{section.name}>{section.headings})" for section in note_sections().values())
    number = r"(?:\d{1,2}[)）、]\s*)?"
    begins = rf"(?<=^)|(?<=[\n.;。；])|(?<=[.;]\s)|(?<=[.;]\s\s)|(?<=[\s，,)）])(?={number}[{HAN}])|(?P<boxed>【)"
    return re.compile(rf"(?:{begins})[ \t]*{number}(?:{named})(?(boxed)】\s*[:：]?|\s*[:：])", re.I | re.M)


def claimed_by(line: str, language: Language) -> str | None:
    """The first section whose way of telling a sentence has, whatever it stands under."""
    rules = rules_of(language)
    return next((name for name, section in note_sections().items() if section.told[rules].search(line)), None)


def _sorted(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """Sentences without a heading, each with its section; findings go on until something else is told."""
    before = ""
    for position, line in enumerate(sentences(text)):
        name = claimed_by(line, language) or (before if before in _FINDINGS else "present_illness")
        if before in _FINDINGS and name not in _FINDINGS:
            name = before
        if position == 0 and name not in _FINDINGS:
            name = "chief_complaint"
        before = name
        yield name, line
