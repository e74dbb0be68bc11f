"""AI Hospital: its medical records or, without them, the references inside its released evaluations.

A record keeps its sections, also under the keys of its English translation; results in running text are filed under
the items that they name. Its departments are those of its web page ("内科病例 神经内科病例"). A released evaluation
holds an expert's diagnosis, basis and treatment: patient record and results are then extracted from the basis, sentence
by sentence, unless the evaluation states them (``symptom``, ``medical_test``), and the provenance says so. Profiles and
the doctors' answers are not imported. No closed item or report is stated, so these stages stay unscored.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from cases.case import Case
from cases.importers.ai_hospital_reference import read_reference
from cases.importers.ai_hospital_texts import entries_in, filed, names_in
from cases.importers.medchain import read_patient
from cases.importers.medchain_departments import assign_departments
from cases.importers.medchain_sections import Sections
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.text.prose import paragraph
from cases.text.words import language_of
from cases.vocabulary import DEPARTMENTS, patterns, word_list

_PATTERNS = patterns("cases", "vocabularies/ai_hospital")
_TRANSLATED: dict[str, str] = word_list("ai_hospital")["translated"]

_EXAMINED = {"physical": ("查体", "体格检查"), "auxiliary": ("辅助检查",)}
_CONTENTS = {"medical_record", "reference_diagnosis"}
# What the release holds of its doctors, by the field that shows it.
_OF_DOCTORS = {"dialog_history": "is a doctor's dialogue with a patient", "final_turn": "is a discussion of doctors"}
_SCORES = "`wardround score mvme FILE --reference EVALUATIONS`, or by `score icd10`"
_OF_A_PAGE = re.compile(r"病例|\bcases\b", re.IGNORECASE)  # after each department of a breadcrumb


@importer("ai_hospital")
def import_ai_hospital(source: Source) -> Iterator[Case]:
    """Read records (a JSON list) or released evaluations (JSON lines); a record that is repeated is used once."""
    seen: dict[str, list[object]] = {}
    for record in source.records(lambda value: not _CONTENTS.isdisjoint(value)):
        entry = _entry(record)
        if entry is None or entry.content in seen.setdefault(entry.number, []):
            continue
        seen[entry.number].append(entry.content)
        if fields := entry.read(record, entry.value):
            fields["provenance"] = {"source": f"AI Hospital ({source.path.name})", **fields.get("provenance", {})}
            if case := record.case(f"ai-hospital-{entry.number}", fields):
                yield case


class _Entry(NamedTuple):
    """A record or an evaluation."""

    number: str  # of the patient
    value: Mapping[str, Any]
    content: Mapping[str, Any]  # what makes two entries of one patient the same
    read: Callable[[Record, Mapping[str, Any]], dict[str, Any] | None]  # returns the fields of a case


def _entry(record: Record) -> _Entry | None:
    """Return a record of the file as an entry; None, with a problem, if it is none."""
    value = record.value
    if isinstance(value, Mapping) and isinstance(content := value.get("medical_record"), Mapping):
        number, field = value.get("id", record.key or None), "id"
        entry = _Entry(str(number), value, content, _record)
    elif isinstance(value, Mapping) and isinstance(reference := value.get("reference_diagnosis"), Mapping):
        number, field = value.get("patient_id", reference.get("patient_id", record.key or None)), "patient_id"
        content = {name: text for name, text in reference.items() if name != "patient_id"}
        entry = _Entry(str(number), value, content, read_reference)
    elif isinstance(value, Mapping) and (found := next((name for name in _OF_DOCTORS if name in value), None)):
        record.error("", f"{_OF_DOCTORS[found]} and not its case: score it by {_SCORES}")
        return None
    else:
        record.expected("", "a record {id, medical_record} or an evaluation {patient_id, reference_diagnosis}", value)
        return None
    if number is None:
        record.expected(field, "the patient's number", number)
        return None
    return entry


def _record(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    medical = {_TRANSLATED.get(key, key): content for key, content in value["medical_record"].items()}
    findings = {
        kind: paragraph(*(entry for key in keys for entry in entries_in(medical.get(key))))
        for kind, keys in _EXAMINED.items()
    }
    examined = {key for keys in _EXAMINED.values() for key in keys}
    for key, text in medical.items():
        if key in examined:
            record.check_text(f"medical_record.{key}", text)
    other = {key: text for key, text in medical.items() if key not in {*examined, "诊断结果"}}
    if "诊断结果" in medical:  # the final diagnosis takes precedence
        other = {key: text for key, text in other.items() if key != "初步诊断"} | {"初步诊断": medical["诊断结果"]}
    sections = Sections(record, other)
    patient = read_patient(sections)
    return {
        "language": language_of(*(text for text in patient.values() if isinstance(text, str))),
        "patient": patient,
        "examinations": filed(findings["physical"], findings["auxiliary"]),
        "key": {
            **assign_departments([*sections.listed("department"), *_departments(record, value)], record, None),
            "diagnosis": names_in("\n".join(sections.listed("diagnosis"))),
            "diagnosis_basis": sections.text("diagnosis_basis"),
            "treatment_course": sections.text("treatment_course"),
        },
    }


def _departments(record: Record, value: Mapping[str, Any]) -> list[str]:
    """Return the departments of a record; those of a web page that we do not have are left out, with a warning."""
    record.check_text("department", value.get("department"))
    stated = value["department"] if isinstance(value.get("department"), str) else ""
    if not _OF_A_PAGE.search(stated):
        return [stated] if stated else []
    first, *others = [name for part in _OF_A_PAGE.split(stated) if (name := part.strip())] or [""]
    if DEPARTMENTS.canonical(first):
        return [first, *others]
    record.warn("department", f"left out: {first!r} is no first-level department; expected {DEPARTMENTS.choices}")
    return []
