"""Med-PMC's cases: eight texts in English, pictures beside the file, and a report for each picture."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cases.case import Case
from cases.importers.findings import Findings
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import sort_tests
from cases.text import lexicon
from cases.text.demographics import beyond_age_and_sex, demographics
from cases.text.named_tests import named_tests
from cases.text.note_sections import claimed_by, note_sections
from cases.text.prose import listed, paragraph, prose
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
_FOLDERS = ("", "images", "image", "Images", "Image", "pictures")  # of pictures, relative to the file
_BETWEEN = " .,:;\n"  # separators after a mark
_LONGEST_LEAD = 8  # words that only introduce a picture
_WRITTEN, _PATTERNS = (patterns("cases", f"vocabularies/{name}") for name in ("medpmc", "patterns"))


@importer("medpmc")
def import_medpmc(source: Source) -> Iterator[Case]:
    """Read the cases, also of a transcript file; Chinese keys repeat the English ones and are ignored."""
    for record, value in source.objects("an object with Text and Image", lambda value: "Text" in value):
        if (data := _data(record, value)) and (case := record.case(data.pop("id"), data)):
            yield case


def _data(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    text, images = value.get("Text"), value.get("Image") or {}
    if not isinstance(text, Mapping):
        record.expected("Text", f"an object with {', '.join(_TEXTS)}", text)
        return None
    texts = {name: _plain(text.get(name)) for name in _TEXTS}
    _check_types(record, text, texts, images)
    if not record.sound:
        return None
    findings = Findings()
    seen, illness = _condition(texts["Physical Condition"])
    for line in seen:
        findings.by_item.setdefault(_region(line) or lexicon.GENERAL, []).append(line)
    examined = text.get("Examinations") if texts["Examinations"] else ""
    rest, leads, before = _leads(
        examined if isinstance(examined, str) else texts["Examinations"],
        {str(name): _plain(report) for name, report in images.items()},
    )
    known = {str(name) for name in images}
    for name in leads:
        if name not in known:
            record.warn("Text.Examinations", f"marks the picture {name!r}, which Image does not contain; left out")
    shown, classes = _pictures(record, {name: lead or before.get(name, "") for name, lead in leads.items()}, images)
    _sort(findings, rest)
    unpictured = {item: [*lines] for item, lines in findings.by_item.items()}
    pictured = {Path(image["file"]).name for image in shown} | {image["file"] for image in shown}
    reports: dict[str, list[str]] = {}
    for name, item, report, line in _reports(images, classes, leads):
        reports.setdefault(item, []).append(report)
        for filed in (findings.by_item, *([unpictured] if name not in pictured else [])):
            filed[item] = list(dict.fromkeys([*filed.get(item, []), line]))
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
        "examinations": {
            **findings.record,
            "images": shown,
            "unpictured": {
                image["item"]: paragraph(*lines) for image in shown if (lines := unpictured.get(image["item"], []))
            },
        },
        "key": {
            "department": "Surgery",
            "sub_departments": ["General Surgery"],
            "examination_items": findings.items,
            "imaging_reports": {item: " ".join(lines) for item, lines in reports.items()},
            "picture_reports": {
                image["file"]: _plain(images[name]) for name, image in _by_report(shown, images) if _plain(images[name])
            },
            "diagnosis": listed(names) if isinstance(names, list) else [texts["Diagnosis"]],
            "treatment_course": texts["Treatment"],
            "inferred": ["examination_items", "department", "sub_departments"],
        },
        "provenance": {
            "source": f"Med-PMC ({record.source.path.name})",
            "note": findings.note,
            "sections": {name: told for name in _TEXTS if isinstance(told := text.get(name), str)},
        },
    }


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


def _reports(
    images: Mapping[str, object], classes: Mapping[str, tuple[str, str]], leads: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield each picture's name, item and report, and the report as a line: with its introduction if that is new."""
    led: set[tuple[str, str]] = set()
    for name, report in ((str(file), _plain(report)) for file, report in images.items()):
        item = classes.get(name, ("", ""))[0]
        if item and report:
            lead = _WRITTEN["leads"].sub("", leads.get(name, ""))
            is_said = not lead or (item, lead) in led or report.lower().startswith(lead.lower())
            yield name, item, report, report if is_said else f"{lead}: {report}"
            led.add((item, lead))


def _leads(examinations: str, reports: Mapping[str, str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """Remove the marks of pictures and their introductions from a text; return it and each picture's introduction.

    Consecutive marks share the introduction of the first; the leading zeros of a mark and its file may differ. What
    states a finding ("CT showed no mass") stays in the text if the picture has no report. A whole sentence before a
    mark stays, too, and is returned apart: the mark has no introduction then, unless nothing else tells its class.
    """
    files = {name.lstrip("0"): name for name in reports}
    leads: dict[str, str] = {}
    sentences_before: dict[str, str] = {}
    parts: list[str] = []
    start, lead, sentence = 0, "", ""
    for mark in _WRITTEN["mark"].finditer(examinations):
        before = examinations[start : mark.start()].lstrip(_BETWEEN)
        name = files.get(mark[1].lstrip("0"), mark[1])
        *whole, own = _WRITTEN["piece"].split(before)
        if _WRITTEN["joins"].fullmatch(own):
            before = before[: -len(own)]
        elif re.search(r"\w", own):
            lead, sentence = own.strip(), ""
            classes = {test.item for test in named_tests(lead)}
            only_leads = reports.get(name) or not _WRITTEN["states"].search(lead)
            if only_leads and classes and classes <= set(IMAGE_CLASSES) and len(lead.split()) <= _LONGEST_LEAD:
                before = before[: -len(own)]
        elif (told := next((part for part in reversed(whole) if re.search(r"\w", part)), "")) and (
            _class_of(told)[0] or _class_of(reports.get(name, ""), first=True)[0]
        ):
            lead, sentence = "", told
        parts.append(before)
        leads[name], sentences_before[name] = lead, sentence
        start = mark.end()
    return "\n".join([*parts, examinations[start:].lstrip(_BETWEEN)]), leads, sentences_before


def _pictures(
    record: Record, leads: Mapping[str, str], images: Mapping[str, object]
) -> tuple[list[dict[str, str]], dict[str, tuple[str, str]]]:
    """Return the pictures found beside the file, and each named file's image class with its name within the class."""
    classes: dict[str, tuple[str, str]] = {}
    shown = []
    for file, report in images.items():
        name = str(file)
        item, within_class = found = _class_of(leads.get(name, ""))
        if not item:
            item, within_class = found = _class_of(_plain(report), first=True)
        classes[name] = found
        if not item:
            known = ", ".join(IMAGE_CLASSES)
            record.warn(f"Image.{name}", f"neither its mark nor its report names one of {known}; left out")
            continue
        folder = record.source.path.parent
        path = next((path for path in _FOLDERS if (folder / path / name).is_file()), "")
        if image := record.image(f"Image.{name}", (Path(path) / name).as_posix(), item):
            shown.append({**image, **({"name": within_class} if within_class else {})})
    return shown, classes


def _class_of(text: str, first: bool = False) -> tuple[str, str]:
    """Return the image class that a text names last (or first), and "Angiography" if it names one."""
    named = [test for test in named_tests(text) if test.item in IMAGE_CLASSES]
    if not named:
        return "", ""
    test = named[0 if first else -1]
    return test.item, "Angiography" if "angiogra" in test.spelling and test.item == "X-ray" else ""


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


def _by_report(shown: list[dict[str, str]], images: Mapping[str, object]) -> Iterator[tuple[str, dict[str, str]]]:
    for image in shown:
        yield Path(image["file"]).name if Path(image["file"]).name in images else image["file"], image


def _plain(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else prose(value)
    return "" if _WRITTEN["nothing"].fullmatch(text) else text
