"""Med-PMC's cases: seven parts of text in English, pictures beside the file, and a report for each picture."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cases.case import Case
from cases.importers.findings import Findings
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import sort_tests
from cases.text.demographics import age_phrases, demographics
from cases.text.named_tests import named_tests
from cases.text.prose import paragraph, prose
from cases.text.sentences import sentences
from cases.vocabulary import IMAGE_CLASSES, PHYSICAL_ITEMS, patterns

_TEXTS = (
    "Patient Information",
    "Chief Complaint",
    "Present Illness",
    "Physical Condition",
    "Past Medical History",
    "Examinations",
    "Diagnosis",
    "Treatment",
)
_FOLDERS = ("", "images", "image", "Images", "Image", "pictures")  # beside the file, or in one of these
_MARK = re.compile(r"[<‹]\\+image\s*(.*?)\s*[>›]", re.DOTALL)
_PATTERNS = patterns("cases", "vocabularies/patterns")
_OCCUPATIONS = re.compile(r"\b(?:occupation|profession)\s*[:：]\s*([^.,;\n]+)", re.IGNORECASE)


@importer("medpmc")
def import_medpmc(source: Source) -> Iterator[Case]:
    """Read the cases; of a transcript file, its cases. Keys in Chinese repeat the English ones and are left out."""
    if source.departments:
        source.error("Med-PMC's records are of general surgery; expected no departments file")
    for record in source.records():
        if (data := _data(record)) and (case := record.case(data.pop("id"), data)):
            yield case


def _data(record: Record) -> dict[str, Any] | None:
    value = record.value
    text = value.get("Text") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(text, Mapping):
        record.expected("Text", f"an object with {', '.join(_TEXTS)}", text)
        return None
    told = {name: _plain(text.get(name)) for name in _TEXTS}
    for name in ("Chief Complaint", "Diagnosis"):
        if not told[name]:
            record.expected(f"Text.{name}", "text", text.get(name))
    images = value.get("Image") or {}
    if not isinstance(images, Mapping):
        record.expected("Image", "an object: report by file name", images)
    if not record.sound:
        return None
    for name in text:
        if name not in _TEXTS and str(name).isascii():
            record.warn(f"Text.{name}", "is no part that is known, and is left out")
    findings = Findings()
    seen, illness = _condition(told["Physical Condition"])
    findings.add_physical({"General Examination": seen} if seen else {})
    shown, classes = _pictures(record, str(text.get("Examinations") or ""), images)
    _sort(findings, _MARK.sub(" ", str(text.get("Examinations") or "")))
    reports: dict[str, list[str]] = {}
    for file, report in images.items():
        if (item := classes.get(str(file), ("", ""))[0]) and _plain(report):
            reports.setdefault(item, []).append(_plain(report))
    for item, lines in reports.items():
        filed = findings.by_item.setdefault(item, [])
        filed += [line for line in lines if line not in filed]
    about = told["Patient Information"]
    stated = demographics(about, told["Present Illness"], brief=True)
    job = _OCCUPATIONS.search(about)
    rest = about if re.search(r"\w", _PATTERNS["sex_word"].sub("", _without(about, age_phrases(about)))) else ""
    return {
        "id": f"med-pmc-{value.get('id', record.number)}",
        "language": "en",
        "patient": {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "occupation": job[1].strip() if job else "",
            "chief_complaint": told["Chief Complaint"],
            "present_illness": paragraph(told["Present Illness"], illness),
            "past_history": told["Past Medical History"],
            "personal_history": rest,
        },
        "examinations": {**findings.record, "images": shown},
        "key": {
            "department": "Surgery",
            "sub_departments": ["General Surgery"],
            "examination_items": findings.items,
            "imaging_reports": {item: " ".join(lines) for item, lines in reports.items()},
            "picture_reports": {
                image["file"]: _plain(images[name]) for name, image in _named(shown, images) if _plain(images[name])
            },
            "diagnosis": [told["Diagnosis"]],
            "treatment_course": told["Treatment"],
            "inferred": ["examination_items", "department", "sub_departments"],
        },
        "provenance": {"source": f"Med-PMC ({record.source.path.name})"},
    }


def _pictures(
    record: Record, examinations: str, images: Mapping[str, object]
) -> tuple[list[dict[str, str]], dict[str, tuple[str, str]]]:
    """The pictures that lie beside the file, and of each named file its class and what it is called within it."""
    classes: dict[str, tuple[str, str]] = {}
    start = 0
    for mark in _MARK.finditer(examinations):
        classes[mark[1]] = _class_of(examinations[start : mark.start()])
        start = mark.end()
    shown = []
    for file, report in images.items():
        name = str(file)
        own = _class_of(_plain(report), first=True)
        item, called = classes[name] = classes[name] if classes.get(name, ("",))[0] else own
        if not item:
            known = ", ".join(IMAGE_CLASSES)
            record.warn(f"Image.{name}", f"neither its mark nor its report names one of {known}; left out")
            continue
        folder = record.source.path.parent
        path = next((path for path in _FOLDERS if (folder / path / name).is_file()), "")
        if image := record.image(f"Image.{name}", (Path(path) / name).as_posix(), item):
            shown.append({**image, **({"name": called} if called else {})})
    return shown, classes


def _class_of(text: str, first: bool = False) -> tuple[str, str]:
    """The image class that a text names last (or first), and angiography by its own name."""
    named = [test for test in named_tests(text) if test.item in IMAGE_CLASSES]
    if not named:
        return "", ""
    test = named[0 if first else -1]
    return test.item, "Angiography" if "angiogra" in test.spelling and test.item == "X-ray" else ""


def _sort(findings: Findings, text: str) -> None:
    """Examinations in running text: what names a test goes to its item, what is seen to the physical ones."""
    tests: list[str] = []
    for line in sentences(text):
        items = [test.item for test in named_tests(line)]
        if not re.search(r"\w", line.partition(":")[2] if line.rstrip().endswith(":") else line):
            continue
        if items and items[0] in PHYSICAL_ITEMS.names:
            findings.by_item.setdefault(items[0], []).append(line)
        else:
            tests.append(line)
    sort_tests(findings, tests)


def _condition(text: str) -> tuple[str, str]:
    """What of the physical condition was measured, and what the patient tells of it."""
    seen = [line for line in sentences(text) if any(test.item in PHYSICAL_ITEMS.names for test in named_tests(line))]
    return " ".join(seen), " ".join(line for line in sentences(text) if line not in seen)


def _named(shown: list[dict[str, str]], images: Mapping[str, object]) -> Iterator[tuple[str, dict[str, str]]]:
    for image in shown:
        yield Path(image["file"]).name if Path(image["file"]).name in images else image["file"], image


def _plain(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else prose(value)


def _without(text: str, parts: list[str]) -> str:
    for part in parts:
        text = text.replace(part, "")
    return text
