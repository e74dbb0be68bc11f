"""Med-PMC's cases: eight texts in English, pictures beside the file, and a report for each picture."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cases.case import Case
from cases.importers.findings import Findings
from cases.importers.medpmc_pictures import pictures_beside, report_by_file, reports_in_lines, without_marks
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import sort_tests
from cases.text import lexicon
from cases.text.demographics import beyond_age_and_sex, demographics
from cases.text.named_tests import named_tests
from cases.text.note_sections import claimed_by, note_sections
from cases.text.prose import listed, paragraph, prose
from cases.text.sentences import sentences
from cases.vocabulary import PHYSICAL_ITEMS, patterns

_TEXTS = (
    *("Patient Information", "Chief Complaint", "Present Illness", "Physical Condition", "Past Medical History"),
    *("Examinations", "Diagnosis", "Treatment"),
)
_WRITTEN, _PATTERNS = (patterns("cases", f"vocabularies/{name}") for name in ("medpmc", "patterns"))


@importer("medpmc")
def import_medpmc(source: Source) -> Iterator[Case]:
    """Read the cases, also of a transcript file; Chinese keys repeat the English ones and are ignored."""
    for record, value in source.objects("an object with Text and Image", lambda value: "Text" in value):
        if (fields := _case_fields(record, value)) and (case := record.case(fields.pop("id"), fields)):
            yield case


def _case_fields(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    text, images = value.get("Text"), value.get("Image") or {}
    if not isinstance(text, Mapping):
        record.expected("Text", f"an object with {', '.join(_TEXTS)}", text)
        return None
    texts = {name: _plain(text.get(name)) for name in _TEXTS}
    _check_types(record, text, texts, images)
    if not record.sound:
        return None
    reports = {str(name): _plain(report) for name, report in images.items()}
    seen, illness = _condition(texts["Physical Condition"])
    written = text.get("Examinations") if texts["Examinations"] else ""
    examined = _examined(record, written if isinstance(written, str) else texts["Examinations"], seen, reports)
    about, names = texts["Patient Information"], text.get("Diagnosis")
    person, illness_tells = demographics(about, brief=True), demographics(texts["Present Illness"])
    occupation, history = _person(about)
    past, habits, family = _histories(texts["Past Medical History"])
    return {
        "id": f"med-pmc-{value.get('id', record.key or record.number)}",
        "language": "en",
        "patient": {
            "age_years": illness_tells.age_years if person.age_years is None else person.age_years,
            "sex": person.sex or illness_tells.sex,
            "occupation": occupation,
            "chief_complaint": texts["Chief Complaint"],
            "present_illness": paragraph(texts["Present Illness"], illness),
            "past_history": paragraph(*past),
            "personal_history": paragraph(history, *habits),
            "family_history": paragraph(*family),
        },
        "examinations": examined.record,
        "key": {
            "department": "Surgery",
            "sub_departments": ["General Surgery"],
            "examination_items": examined.findings.items,
            "imaging_reports": {item: " ".join(lines) for item, lines in examined.reports.items()},
            "picture_reports": report_by_file(examined.shown, reports),
            "diagnosis": listed(names) if isinstance(names, list) else [texts["Diagnosis"]],
            "treatment_course": texts["Treatment"],
            "inferred": ["examination_items", "department", "sub_departments"],
        },
        "provenance": {
            "source": f"Med-PMC ({record.source.path.name})",
            "note": examined.findings.note,
            "sections": {name: told for name in _TEXTS if isinstance(told := text.get(name), str)},
        },
    }


class _Examined(NamedTuple):
    """What examinations show."""

    findings: Findings  # in words, the pictures' reports among them
    shown: list[dict[str, str]]  # the pictures that lie beside the file
    unpictured: dict[str, list[str]]  # findings by item, without the reports of these pictures
    reports: dict[str, list[str]]  # of pictures, by item

    @property
    def record(self) -> dict[str, Any]:
        """The case's record of examinations."""
        of_classes = {image["item"]: self.unpictured.get(image["item"], []) for image in self.shown}
        unpictured = {item: paragraph(*lines) for item, lines in of_classes.items() if lines}
        return {**self.findings.record, "images": self.shown, "unpictured": unpictured}


def _examined(record: Record, written: str, seen: Sequence[str], reports: Mapping[str, str]) -> _Examined:
    """File what the physical condition shows (``seen``), the written examinations, and the reports of pictures."""
    findings = Findings()
    for line in seen:
        findings.by_item.setdefault(_region(line) or lexicon.GENERAL, []).append(line)
    rest, leads, before = without_marks(written, reports)
    for name in leads:
        if name not in reports:
            record.warn("Text.Examinations", f"marks the picture {name!r}, which Image does not contain; left out")
    shown, classes = pictures_beside(
        record, {name: lead or before.get(name, "") for name, lead in leads.items()}, reports
    )
    _sort(findings, rest)
    unpictured = {item: [*lines] for item, lines in findings.by_item.items()}
    pictured = {Path(image["file"]).name for image in shown} | {image["file"] for image in shown}
    by_item: dict[str, list[str]] = {}
    for name, item, report, line in reports_in_lines(reports, classes, leads):
        by_item.setdefault(item, []).append(report)
        for filed in (findings.by_item, *([unpictured] if name not in pictured else [])):
            filed[item] = list(dict.fromkeys([*filed.get(item, []), line]))
    return _Examined(findings, shown, unpictured, by_item)


def _check_types(record: Record, text: Mapping[str, Any], texts: Mapping[str, str], images: object) -> None:
    """Report parts and pictures of another type, and parts that are missing or unknown."""
    for name in _TEXTS:
        record.check_text(f"Text.{name}", text.get(name))
    for name in ("Chief Complaint", "Diagnosis"):
        if not texts[name]:
            record.expected(f"Text.{name}", "text", text.get(name))
    if isinstance(images, Mapping):
        for name, report in images.items():
            record.check_text(f"Image.{name}", report)
    else:
        record.expected("Image", "an object: report by file name", images)
    for name in text if record.sound else ():
        if name not in _TEXTS and str(name).isascii():
            record.warn(f"Text.{name}", "unknown part, left out")


def _sort(findings: Findings, text: str) -> None:
    """File examinations in running text: lines that name a test under its item, observations under physical ones.

    An observation without a test belongs to the physical examination before it, even in another paragraph, up to the
    next test or measurement.
    """
    tests: list[str] = []
    current = ""
    for line in (" ".join(part_of_text.split()) for part_of_text in sentences(text)):
        if not re.search(r"\w", line.partition(":")[2] if line.endswith(":") else line):
            continue
        items = [test.item for test in named_tests(line)]
        named = bool(items) and items[0] in PHYSICAL_ITEMS.names
        if _WRITTEN["seen"].match(line):
            current, named = lexicon.GENERAL, False
        elif named:
            current = items[0]
        elif items or _WRITTEN["measured"].search(line):
            current = ""
        if named and lexicon.first_test_in(line):
            findings.displaced.append((line.partition(":")[0] if ":" in line else " ".join(line.split()[:6]), current))
        if current:
            for part in [line] if named else re.split(r"(?<=;)\s+", line):
                findings.by_item.setdefault((not named and _region(part)) or current, []).append(part)
        else:
            tests.append(line)
    sort_tests(findings, tests)


def _region(seen: str) -> str:
    """Return the physical item of most parts of an observation; empty if no rule knows any."""
    if _WRITTEN["vital"].match(seen):
        return lexicon.GENERAL
    found = Counter(item for part in seen.split(",") if (item := lexicon.physical_item(part)))
    return max(found, key=found.__getitem__, default="")


def _person(about: str) -> tuple[str, str]:
    """Return occupation and history from the patient's information; "Male, 66 years old, farmer" has no history."""
    rest = [
        part
        for piece in re.split(r"[,;.]", beyond_age_and_sex(about))
        if (part := re.sub(r"(?i)^\W*(?:patient\b)?\W*", "", piece).strip())
    ]
    if job := _WRITTEN["occupations"].search(about):
        return job[1].strip(), about if len(rest) > 1 else ""
    if len(rest) == 1 and len(rest[0].split()) <= 3 and not re.search(r"\d", rest[0]):
        return rest[0], ""
    return "", about if rest else ""


def _condition(text: str) -> tuple[list[str], str]:
    """Split the physical condition into what was found by examination and what the patient reports."""
    lines = _clauses(text)
    seen = [line for line in lines if _PATTERNS["found_by_examining"].search(line) or _has_test_heading(line)]
    return seen, " ".join(re.sub(";$", ".", line) for line in lines if line not in seen)


def _clauses(text: str) -> list[str]:
    """Split a text into sentences, also at semicolons, since their parts may belong to different sections."""
    return [part for line in sentences(text) for part in re.split(r"(?<=;)\s+", line)]


def _histories(text: str) -> tuple[list[str], list[str], list[str]]:
    """Split the past history into earlier illnesses, the patient's habits, and the family's illnesses."""
    sections: dict[str, list[str]] = {"past_history": [], "personal_history": [], "family_history": []}
    family = note_sections()["family_history"].told["en"]
    for sentence in filter(_plain, sentences(text)):
        name = "past_history"  # an unclaimed clause goes with the one before it
        for clause in _clauses(sentence):
            claim = "family_history" if family.search(clause) else claimed_by(clause, "en")
            name = claim if claim in sections else name if claim is None else "past_history"
            sections[name].append(re.sub(";$", ".", clause))
    past, habits, kin = sections.values()
    return past, habits, kin


def _has_test_heading(line: str) -> bool:
    """Whether a line begins with the name of an examination ("Rectal examination: ...")."""
    head, colon, _ = line.partition(":")
    return bool(colon and named_tests(head))


def _plain(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else prose(value)
    return "" if _WRITTEN["nothing"].fullmatch(text) else text
