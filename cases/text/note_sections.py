"""Split a clinical note into sections of the SOAP order, sentence by sentence (CliniChat, section 3.1).

A heading decides the section of its sentences. Without one, a sentence goes to the section whose typical words it
holds; the first is the chief complaint, and unclaimed ones belong to the present illness.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cases.text.sentences import LONGEST_SENTENCE, entries_of, sentences
from cases.text.words import HAN, rules_of
from cases.vocabulary import Language, patterns, word_list

_NEVER = r"(?!)"
_WRAPPED = r"(?-i:[a-z ]+)$"  # the only words of a wrapped line: no heading
_PATTERNS = patterns("cases", "vocabularies/patterns")
FILE = "file"  # the section of what is only for the file
_FINDINGS = ("physical_examination", "test_results")


@dataclass(frozen=True)
class Section:
    """A section of a note and the patterns that identify it."""

    name: str
    en: str
    zh: str
    headings: str
    at_line: str  # headings only at the beginning of a line
    told: dict[Language, re.Pattern[str]]
    part: str  # complaint, history or results, which a note needs for an interview; otherwise empty

    def is_headed(self, name: str) -> bool:
        """Whether notes use this name as its heading."""
        return re.fullmatch(self.headings, name, re.IGNORECASE) is not None


@cache
def note_sections() -> dict[str, Section]:
    """Return all sections by name, in the order of a note."""
    entries = word_list("note_sections")["section"]
    return {
        entry["name"]: Section(
            name=entry["name"],
            en=entry["en"],
            zh=entry["zh"],
            headings="|".join((re.escape(entry["en"]), re.escape(entry["zh"]), entry["headings"])),
            at_line=entry.get("at_line", _NEVER),
            told={
                "en": re.compile(entry.get("told_en", _NEVER), re.IGNORECASE),
                "zh": re.compile(entry.get("told_zh", _NEVER)),
            },
            part=entry.get("part", ""),
        )
        for entry in entries
    }


def heading(name: str, language: Language) -> str:
    """Return the heading that we write for a section."""
    section = note_sections()[name]
    return section.zh if language == "zh" else section.en


@cache
def read_sections(text: str, language: Language) -> dict[str, tuple[str, ...]]:
    """Return the sentences of a note by section, in the order of the sections; empty sections are left out."""
    found: dict[str, list[str]] = {name: [] for name in note_sections()}
    for name, block in _blocks(_without_frame(text)):
        for section, part in (
            _by_section(block, language, begins=not found["chief_complaint"])
            if name is None
            else ((name, line) for line in sentences(block))
        ):
            found[section].append(part)
    found["medications"], none_known = _parted(found["medications"], _PATTERNS["no_allergy"])
    found["allergies"] += none_known
    found["present_illness"], examined = _until_examined(found["present_illness"])
    found["physical_examination"] = [*examined, *found["physical_examination"]]
    found["present_illness"], of_family = _parted(found["present_illness"], _PATTERNS["of_family"])
    found["family_history"] += of_family
    # One heading often covers both: the family's illnesses and the patient's own habits.
    mixed, own = found["family_history"], _about_patient(found["family_history"], language)
    found["personal_history"] += own
    found["family_history"] = [line for line in mixed if line not in own]
    if rules_of(language) == "zh":  # whose numbers stand close to the words: 1.2型糖尿病
        found = {name: entries_of(lines) for name, lines in found.items()}
    return {name: tuple(dict.fromkeys(lines)) for name, lines in found.items() if lines}


def _parted(lines: list[str], pattern: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return the lines that do not begin with a pattern, and those that do."""
    return [line for line in lines if not pattern.match(line)], [line for line in lines if pattern.match(line)]


def _about_patient(lines: list[str], language: Language) -> list[str]:
    """Return the patient's lines among those about family and patient; "he" and "this" continue the line before."""
    personal, own, continues = note_sections()["personal_history"].told[rules_of(language)], [], True
    for line in lines:
        is_own = personal.search(line) is not None or (continues and _PATTERNS["goes_on"].match(line) is not None)
        continues = is_own and _PATTERNS["kin_in_note_sections"].search(line) is None
        own += [line] * continues
    return own


def _until_examined(lines: list[str]) -> tuple[list[str], list[str]]:
    """Split a history where the examination begins; a later line about the patient's story is history again."""
    history: list[str] = []
    examined: list[str] = []
    for line in lines:
        if _PATTERNS["examined"].match(line) or (examined and not _PATTERNS["patient_again"].match(line)):
            examined.append(line)
        else:
            history.append(line)
    return history, examined


def _without_frame(text: str) -> str:
    """Return a note without its title, and a letter without what opens and closes it."""
    frame = word_list("note_sections")["any"]
    text = re.sub(rf"\A\s*(?:{frame['title']})[ \t]*(?:\n|\Z)", "", text, flags=re.I)
    return re.sub(rf"\A\s*{frame['salutation']}|(?:{frame['closing']})\Z", "", text, flags=re.I)


def _blocks(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield each heading's section and text; None for text that no heading sorts."""
    start, name, bullet = 0, None, ""
    for match in (*_heading_pattern().finditer(text), None):
        block = text[start : match.start() if match else None].strip(" \t\r\n，,")
        if bullet and name != FILE:  # in a list, a heading is that of its entry
            block, _, others = block.partition(bullet)
            if others and block:
                yield (None if name == "any" else name), block
                name, block = None, others
        if name == FILE and block:  # it keeps its heading
            told = _told_from(block)
            yield FILE, block[:told].rstrip(" \t\n，,；;")
            yield from _blocks(block[told:])
        elif block:
            yield (None if name == "any" else name), block
        if match:
            name = match.lastgroup
            bullet = f"\n{match['bullet']}" if match["bullet"] else ""
            start = match.start(FILE) if name == FILE else match.end()


def _told_from(block: str) -> int:
    """Return where a block that a heading of the file begins tells of the patient; at the latest after its line."""
    line = block.partition("\n")[0]
    begins = line[:LONGEST_SENTENCE]  # no heading is longer, and the rest is read at each pause
    for pause in _PATTERNS["pause"].finditer(begins):
        rest = begins[pause.end() :]
        headed = _heading_pattern().match(rest)
        if (
            pause["stop"]
            or pause["says"]
            or (headed and headed.lastgroup != FILE and headed[0].endswith((":", "：")))
            or any(told.search(rest) for told in note_sections()["present_illness"].told.values())
            or _PATTERNS["tells"].match(rest)
        ):
            return pause.end()
    return len(line)


@cache
def _heading_pattern() -> re.Pattern[str]:
    either = word_list("note_sections")["any"]
    headings = {name: (section.headings, section.at_line) for name, section in note_sections().items()}
    headings["any"] = (either["headings"], either["at_line"])
    named = "|".join(
        f"(?P<{name}>{words}|(?(line)(?!{_WRAPPED})(?:{line})|{_NEVER}))" for name, (words, line) in headings.items()
    )
    second = "|".join(words for words, _ in headings.values())
    named = rf"(?:{named})(?:\s*(?:and|&|/|[及与和、])\s*(?:{second}))?"
    # Han characters of a heading may stand apart: 主 诉.
    named = re.sub(rf"(?<=[{HAN}])(?=[{HAN}])", "[ \u3000]*", named)
    number = r"(?:(?:\d{1,2}|[一二三四五六七八九十]{1,3})[)）、.．]\s*|[(（][\d一二三四五六七八九十]{1,3}[)）]\s*)?"
    # What follows a decimal point, as in "38.1. Assessment: ...", numbers no heading.
    elsewhere = (
        rf"(?<=[.;。；])(?!(?<=\d\.)\d)|(?<=[.;]\s)|(?<=[.;]\s\s)|(?<=[\s，,)）])(?={number}[{HAN}])|(?P<boxed>[【\[])"
    )
    ends = r"(?(boxed)[】\]]\s*[:：]?|(?(line)\**[ \t]*(?:[:：]\**|$)|\s*[:：]))"
    return re.compile(
        rf"(?:(?P<line>^)(?:[ \t#*]*+|(?P<bullet>[ \t]*[-•*]+[ \t]+))|{elsewhere})[ \t]*+{number}{named}{ends}",
        re.I | re.M,
    )


def claimed_by(line: str, language: Language) -> str | None:
    """Return the first section whose patterns match a line, whatever heading it is under; None if none does."""
    rules, line = rules_of(language), line.lstrip("-•* ")
    return next((name for name, section in note_sections().items() if section.told[rules].search(line)), None)


def _by_section(text: str, language: Language, *, begins: bool) -> Iterator[tuple[str, str]]:
    """Assign sentences without a heading to sections; findings continue until a line tells the patient's history.

    With ``begins``, the first of the history is the complaint.
    """
    before = ""
    for position, line in enumerate(sentences(text)):
        name = claimed_by(line, language) or "present_illness"
        if before in _FINDINGS:
            ended = name != "present_illness" and _PATTERNS["history_again"].match(line)
            name = name if ended or name in _FINDINGS else before
        elif name in _FINDINGS and _PATTERNS["seen_before"].search(line):
            name = "present_illness"
        if begins and position == 0 and name not in _FINDINGS:
            name = "chief_complaint"
        before = name
        yield name, line
