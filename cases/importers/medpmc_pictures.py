"""Pictures of Med-PMC's cases: the marks in the text, what introduces each, and the class that it shows."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cases.importers.source import Record
from cases.text.named_tests import named_tests
from cases.vocabulary import IMAGE_CLASSES, patterns

_FOLDERS = ("", "images", "image", "Images", "Image", "pictures")  # of pictures, relative to the file
_BETWEEN = " .,:;\n"  # separators after a mark
_WRITTEN = patterns("cases", "vocabularies/medpmc")
_LONGEST_LEAD = 8  # words that only introduce a picture


def reports_in_lines(
    reports: Mapping[str, str], classes: Mapping[str, tuple[str, str]], leads: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield each picture's name, item and report, and the report as a line: with its introduction if that is new."""
    led: set[tuple[str, str]] = set()
    for name, report in reports.items():
        item = classes.get(name, ("", ""))[0]
        if item and report:
            lead = _WRITTEN["leads"].sub("", leads.get(name, ""))
            is_said = not lead or (item, lead) in led or report.lower().startswith(lead.lower())
            yield name, item, report, report if is_said else f"{lead}: {report}"
            led.add((item, lead))


def without_marks(examinations: str, reports: Mapping[str, str]) -> tuple[str, dict[str, str], dict[str, str]]:
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


def pictures_beside(
    record: Record, leads: Mapping[str, str], reports: Mapping[str, str]
) -> tuple[list[dict[str, str]], dict[str, tuple[str, str]]]:
    """Return the pictures found beside the file, and each named file's image class with its name within the class."""
    classes: dict[str, tuple[str, str]] = {}
    shown = []
    for name, report in reports.items():
        item, within_class = found = _class_of(leads.get(name, ""))
        if not item:
            item, within_class = found = _class_of(report, first=True)
        classes[name] = found
        if not item:
            known = ", ".join(IMAGE_CLASSES)
            record.warn(f"Image.{name}", f"neither its mark nor its report names one of {known}; left out")
            continue
        path = next((path for path in _FOLDERS if (record.source.folder / path / name).is_file()), "")
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


def report_by_file(shown: list[dict[str, str]], reports: Mapping[str, str]) -> dict[str, str]:
    """Return the reports of the pictures that have one, by their place beside the file."""
    named = {image["file"]: Path(image["file"]).name for image in shown}
    found = {file: reports[name if name in reports else file] for file, name in named.items()}
    return {file: report for file, report in found.items() if report}
