"""Split a vignette, a record in running text as in examinations, into patient record and findings."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cases.importers.findings import Findings
from cases.text.demographics import demographics
from cases.text.lexicon import GENERAL
from cases.text.named_tests import COLLECTIVE, named_tests, placed_tests
from cases.text.note_sections import read_sections
from cases.text.prose import paragraph
from cases.text.sentences import sentences
from cases.vocabulary import PHYSICAL_ITEMS, Language, normalise

_HISTORIES = {
    "past_history": ("past_history", "medications", "allergies", "immunizations"),
    "personal_history": ("personal_history",),
    "family_history": ("family_history",),
    "present_illness": ("present_illness", "review_of_systems"),
}
# "... 2.1 mg/dL, and a renal biopsy shows ...": a new finding begins; not within brackets, nor at "left and right".
_NEXT_FINDING = re.compile(
    r"[;；]\s*(?![^()]*\))|(?<!\bleft)(?<!\bright),?\s+(?:and|while|whereas|but)\s+(?=[^,.;]{0,60}?\b(?:shows?|showed|reveals?|revealed|demonstrate[sd]?)\b)"
)
# Laboratory lines: "2021-03-02 09:10：WBC ...", "FT3 18.2 pmol/L，↑；"
_LABORATORY_LINE = re.compile(
    r"\W*\d{4}[-./]\d{1,2}[-./]\d{1,2}\s+\d{1,2}[:：]\d{2}|.*(?:[↑↓]|(?:\d|[阴阳]\s*性).*[，,]\s*[NHLM])\W*$", re.DOTALL
)
# A narrative that mentions a test: 患者半月前 ..., 行颈部 B 超检查提示 ...; not 患者血常规：...
_NARRATIVE = re.compile(r"(?:[男女]性?[，,]|患[者儿])[^，,：:]*[，,]")
_BETWEEN = " ,，、。"  # remains of the sentence before
_HEAD = re.compile(r"[^\s,.;:，。；：]{1,8}(?=:)")
_BEFORE = re.compile(r"(?:(?:his|her|the|an?|serum|initial|random|fasting) )*")
_VALUE = re.compile(r"\s*(?:level )?(?:is|was|of|at|:)?\s*[<>]?\d(?![\d.]* ?-?(?:hour|day|week|month|year)s?\b)")
# "A 3-week history of fatigue" is the present illness; "a history of asthma" and "a 10-year history of" are past.
_RECENT_HISTORY = re.compile(r"\b(?:hour|day|week|month)s?[ -]history of\b", re.IGNORECASE)


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
    story = [line for line in tests if _NARRATIVE.match(line)]
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
    fields["present_illness"] = [*story, *(line for line in fields["present_illness"] if line not in measured)]
    recent = [line for line in fields["past_history"] if _RECENT_HISTORY.search(line)]
    fields["past_history"] = [line for line in fields["past_history"] if line not in recent]
    fields["present_illness"] = [*recent, *fields["present_illness"]]
    history = {name: paragraph(*lines) for name, lines in fields.items()}
    if complaint and opening and complaint not in " ".join(opening):
        history["present_illness"] = paragraph(
            *(line for line in opening if line not in story), history["present_illness"]
        )
    return Vignette(
        {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "chief_complaint": complaint or " ".join(opening[:1]),
            **history,
        },
        findings,
    )


def sort_tests(findings: Findings, lines: Iterable[str]) -> None:
    """File results in running text: each finding under the test that it names, or under the one before it."""
    last = "Blood Test"
    for line in lines:
        for part in filter(None, (each.lstrip(_BETWEEN) for each in _NEXT_FINDING.split(line))):
            items = [test.item for test in named_tests(part)]
            if named := [item for item in items if item not in PHYSICAL_ITEMS.names]:
                last = named[0]
                findings.by_item.setdefault(last, []).append(paragraph(part))
            elif not part.isascii() and named_tests(re.split("[:：]", part)[0]):  # 心电图：...
                findings.by_item.setdefault(items[0], []).append(paragraph(part))
            elif part.isascii():
                findings.add_text("Laboratory" if last == "Blood Test" else last, part)
            else:
                last = "Blood Test" if _LABORATORY_LINE.match(part) and last not in COLLECTIVE else last
                findings.by_item.setdefault(last, []).append(part)


def _is_measured(line: str) -> bool:
    """Whether a line begins with the name of a test other than a physical examination ("PSA 3.1 ng/mL").

    A few words may precede the name in a heading (胸部 CT：双肺 ...); laboratory lines need no name.
    """
    if _LABORATORY_LINE.match(line):
        return True
    head = _HEAD.match(normalise(line))
    return any(
        (not start or (head is not None and end == head.end())) and test.item not in PHYSICAL_ITEMS.names
        for start, end, test in placed_tests(line)
    )


def _has_value(line: str) -> bool:
    """Whether a line is a test's name and a number ("Her sodium is 128 mEq/L"); "2 years ago" does not count."""
    folded = normalise(line)
    return any(
        test.item not in PHYSICAL_ITEMS.names and _BEFORE.fullmatch(folded[:start]) and _VALUE.match(folded, end)
        for start, end, test in placed_tests(line)
    )


def _under(sections: Mapping[str, tuple[str, ...]], *names: str) -> list[str]:
    return [line for name in names for line in sections.get(name, ())]
