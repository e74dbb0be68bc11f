"""MedChain: ``{title: case}`` with Chinese keys, or with the English ones of the paper's Figure 4.

Nesting varies: a section is read wherever it occurs, and a missing section stays absent. Urgency is not recorded. The
title becomes the case's id, so that the source record can be found; since it names the diagnosis, ids must not be shown
to a doctor. The tagged diseases are keywords, not the reference diagnosis, and are left out, as are summary (except age
and sex), differential diagnosis and discussion.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from cases.case import Case
from cases.importers.medchain_departments import assign_departments, read_departments
from cases.importers.medchain_sections import Sections, is_case
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.text.demographics import age_phrases, demographics
from cases.text.prose import paragraph, phrase, prose, texts
from cases.text.sentences import sentences
from cases.text.words import language_of
from cases.vocabulary import AUXILIARY_ITEMS, IMAGE_CLASSES, TREATMENT_ITEMS

_LONGEST_ID = 60


@importer("medchain")
def import_medchain(source: Source) -> Iterator[Case]:
    """Read MedChain cases; one object may hold several titles."""
    directory = read_departments(source)
    for record, value in source.objects("an object {title: case}", lambda value: is_case(value) or _titled(value) > 0):
        if is_case(value):
            yield from _read(record, f"{source.path.stem} {record.number}", directory)
        else:
            for title, case in value.items():
                yield from _read(Record(source, title, record.number, case), title, directory)


def _titled(value: Mapping[str, Any]) -> int:
    return sum(isinstance(case, Mapping) and is_case(case) for case in value.values())


def _read(record: Record, title: str, directory: set[str] | None) -> Iterator[Case]:
    if not isinstance(record.value, Mapping):
        record.expected("", "a case object with tags and [Case Introduction]", record.value)
        return
    sections = Sections(record, record.value)
    patient = read_patient(sections)
    case = record.case(
        _id(title),
        {
            "language": language_of(*(text for text in patient.values() if isinstance(text, str))),
            "patient": patient,
            "examinations": {**sections.findings.record, "images": list(_images(sections))},
            "key": {
                **assign_departments(sections.listed("department"), record, directory),
                "examination_items": sections.findings.items,
                "imaging_reports": _imaging_reports(sections),
                "diagnosis": sections.listed("diagnosis"),
                "diagnosis_basis": sections.text("diagnosis_basis"),
                "treatment_course": sections.text("treatment_course"),
                "treatment_items": _treatment_items(sections),
            },
            "provenance": {"source": f"MedChain ({record.source.path.name})"},
        },
    )
    if case:
        yield case


def read_patient(sections: Sections) -> dict[str, Any]:
    """Return the patient record; a missing complaint is replaced by the opening of the present illness."""
    complaint, illness = sections.text("chief_complaint"), sections.text("present_illness")
    stated = demographics(*(phrase(content) for _, content in sections.contents("about")), complaint, illness)
    if not complaint and illness:
        complaint = _opening(illness)
        sections.record.warn(
            "Chief Complaint (主诉)", "is missing; the first sentence of the present illness is used instead"
        )
    elif not complaint:
        sections.record.error(
            "Chief Complaint (主诉)", "expected text or a list of texts; found neither this nor a present illness"
        )
    return {
        **vars(stated),
        "chief_complaint": complaint,
        "present_illness": illness,
        **{name: sections.text(name) for name in ("past_history", "personal_history", "family_history")},
    }


def _opening(illness: str) -> str:
    """Return the first sentence, and the next if the first only introduces the patient ("患者，女，45岁。")."""
    first, *others = sentences(illness)
    return paragraph(first, *others[:1]) if age_phrases(first) and len(first) < 20 else first


def _images(sections: Sections) -> Iterator[dict[str, str]]:
    for at, content in sections.contents("images"):
        for number, entry in enumerate(content if isinstance(content, list) else [content]):
            place = f"{at}.{number}"
            if not isinstance(entry, Mapping):
                sections.record.expected(place, "an object with filename and category", entry)
                continue
            file = entry.get("文件名", entry.get("filename"))
            if not isinstance(file, str) or not file.strip():
                sections.record.expected(f"{place}.filename", "the name of a picture", file)
                continue
            classes = texts(entry.get("分类", entry.get("category")))
            items = [item for item in map(AUXILIARY_ITEMS.canonical, classes) if item and item in IMAGE_CLASSES]
            if not items:
                found, accepted = ", ".join(classes) or "nothing", ", ".join(IMAGE_CLASSES)
                sections.record.warn(
                    f"{place}.category",
                    f"picture {file!r} left out: {found} is not an image class; expected one of {accepted}",
                )
                continue
            item, *others = dict.fromkeys(items)
            if others:
                further = f"picture {file!r} is filed under {item} alone, not {', '.join(others)}"
                sections.record.warn(f"{place}.category", further)
            if image := sections.record.image(f"{place}.filename", file.strip(), item):
                yield image


def _imaging_reports(sections: Sections) -> dict[str, str]:
    reports: dict[str, str] = {}
    for at, content in sections.contents("imaging_reports"):
        if not isinstance(content, Mapping):
            if texts(content):
                sections.record.expected(at, "an object {image class: report}", content)
            continue
        for name, report in content.items():
            sections.record.check_text(f"{at}.{name}", report)
            if (item := AUXILIARY_ITEMS.canonical(name)) is None:
                left_out = sections.record.source.left_out(name, AUXILIARY_ITEMS)
                sections.record.warn(f"{at}.{name}", f"unknown image class, {left_out}")
            elif text := prose(report):
                reports[item] = paragraph(reports.get(item, ""), text)
    return reports


def _treatment_items(sections: Sections) -> list[str]:
    items = []
    for text in sections.listed("treatment_items"):
        for name in [text] if TREATMENT_ITEMS.canonical(text) else re.split(r"[,，、;；]\s*", text):
            if item := TREATMENT_ITEMS.canonical(name):
                items.append(item)
            else:
                left_out = sections.record.source.left_out(name, TREATMENT_ITEMS)
                sections.record.warn("Treatment Items (治疗项目)", f"unknown item {name!r}, {left_out}")
    return items


def _id(title: str) -> str:
    """Return the title as an id; a long one is cut and gets a hash."""
    slug = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", title).casefold()).strip("-")
    if 0 < len(slug) <= _LONGEST_ID:
        return slug
    digest = hashlib.sha256(title.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{slug[: _LONGEST_ID - 9].strip('-')}-{digest}".strip("-")
