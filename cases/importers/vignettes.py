"""Split a vignette, a record in running text as in examinations, into patient record and findings."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cases.importers.findings import Findings
from cases.text.demographics import beyond_age_and_sex, demographics
from cases.text.lexicon import GENERAL
from cases.text.named_tests import COLLECTIVE, named_tests, placed_tests
from cases.text.note_sections import read_sections
from cases.text.prose import paragraph
from cases.text.sentences import sentences
from cases.vocabulary import PHYSICAL_ITEMS, Language, normalise, patterns

_HISTORIES = {
    "past_history": ("past_history", "medications", "allergies", "immunizations"),
    "personal_history": ("personal_history",),
    "family_history": ("family_history",),
}
_PATTERNS = patterns("cases", "vocabularies/vignettes")
_BETWEEN = " ,，、。"  # remains of the sentence before


@dataclass(frozen=True)
class Vignette:
    """The patient record and the findings of a text."""

    patient: dict[str, Any]
    findings: Findings


def read_vignette(text: str, language: Language, complaint: str = "") -> Vignette:
    """Split a text; ``complaint``, if given, replaces the text's first sentence as the chief complaint."""
    sections = read_sections(text, language)
    stated = demographics(text)
    opening = _under(sections, "chief_complaint") or sentences(text)[:1]
    findings = Findings()
    illness = _under(sections, "present_illness", "review_of_systems")
    tests = _under(sections, "test_results")
    story = [line for line in tests if _PATTERNS["narrative"].match(line)]
    examined = _under(sections, "physical_examination")
    # the record has no heading for its tests
    measured = [line for line in (*illness, *examined) if _is_measured(line) and (language == "zh" or line in examined)]
    measured += [line for line in illness if line not in measured and _has_value(line)]
    seen = paragraph(*(line for line in examined if line not in measured))
    if language == "en":
        findings.add_physical({GENERAL: seen})
    elif seen:
        findings.by_item[GENERAL] = [seen]
    sort_tests(findings, [*measured, *(line for line in tests if line not in story)])
    fields = {name: _under(sections, *parts) for name, parts in _HISTORIES.items()}
    recent = [line for line in fields["past_history"] if _PATTERNS["recent_history"].search(line)]
    fields["past_history"] = [line for line in fields["past_history"] if line not in recent]
    fields["present_illness"] = [*recent, *story, *(line for line in illness if line not in measured)]
    history = {name: paragraph(*lines) for name, lines in fields.items()}
    if complaint and opening and _says_more(" ".join(opening), complaint):
        history["present_illness"] = paragraph(
            *(line for line in opening if line not in story), history["present_illness"]
        )
    patient = {**vars(stated), "chief_complaint": complaint or " ".join(opening[:1]), **history}
    return Vignette(patient, findings)


def _says_more(opening: str, complaint: str) -> bool:
    """Whether the opening of a record tells more than who comes with this complaint."""
    around = " ".join(opening.split(complaint, 1))
    return around == opening or re.search(r"\w", _PATTERNS["frame"].sub("", beyond_age_and_sex(around))) is not None


def sort_tests(findings: Findings, lines: Iterable[str]) -> None:
    """File results in running text: each finding under the test that it names, or under the one before it."""
    last = "Blood Test"
    for line in lines:
        found = (part for each in _PATTERNS["next_finding"].split(line) for part in _by_test(each))
        for part in filter(None, (each.lstrip(_BETWEEN) for each in found)):
            items = [test.item for test in named_tests(part)]
            if named := [item for item in items if item not in PHYSICAL_ITEMS.names]:
                last = named[0]
                findings.by_item.setdefault(last, []).append(paragraph(part))
            elif not part.isascii() and named_tests(re.split("[:：]", part)[0]):  # 心电图：...
                findings.by_item.setdefault(items[0], []).append(paragraph(part))
            elif part.isascii():
                findings.add_text("Laboratory" if last == "Blood Test" else last, part)
            else:
                last = "Blood Test" if _PATTERNS["laboratory_line"].match(part) and last not in COLLECTIVE else last
                findings.by_item.setdefault(last, []).append(part)


def _by_test(finding: str) -> list[str]:
    """Cut a Chinese finding before each clause that names a test of another item: 尿HCG阳性，超声示左附件区包块."""
    parts, item = [""], ""
    for clause in re.split("(?<=，)", finding):
        named = [test.item for test in named_tests(clause) if test.apart or test.item not in PHYSICAL_ITEMS.names]
        if named and item and item not in named:
            parts.append("")
        item = named[0] if named and item not in named else item
        parts[-1] += clause
    return [part.rstrip("，") for part in parts] if len(parts) > 1 else parts


def _is_measured(line: str) -> bool:
    """Whether a line begins with the name of a test other than a physical examination ("PSA 3.1 ng/mL").

    A few words may precede the name in a heading (胸部 CT：双肺 ...); laboratory lines need no name.
    """
    if _PATTERNS["laboratory_line"].match(line):
        return True
    head = _PATTERNS["head"].match(normalise(line))
    return any(
        (not start or (head is not None and end == head.end())) and test.item not in PHYSICAL_ITEMS.names
        for start, end, test in placed_tests(line)
    )


def _has_value(line: str) -> bool:
    """Whether a line is a test's name and a number ("Her sodium is 128 mEq/L"); "2 years ago" does not count."""
    folded, before, value = normalise(line), _PATTERNS["before"], _PATTERNS["value"]
    return any(
        test.item not in PHYSICAL_ITEMS.names and before.fullmatch(folded[:start]) and value.match(folded, end)
        for start, end, test in placed_tests(line)
    )


def _under(sections: Mapping[str, tuple[str, ...]], *names: str) -> list[str]:
    return [line for name in names for line in sections.get(name, ())]
