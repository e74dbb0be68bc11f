"""AI Hospital's released dialogues, one-step outputs, collaborations and evaluations, and the reports in them."""

import dataclasses
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, model_validator

from cases import Problem
from cases.case import as_usually_typed
from cases.importers.source import Source
from cases.vocabulary import patterns
from scoring.records import ForeignModel, Model, Reading, Text, read_records

_PATTERNS = patterns("scoring.mvme", "patterns")

Part = Literal["symptoms", "examinations", "diagnosis", "basis", "treatment"]
PARTS: tuple[Part, ...] = ("symptoms", "examinations", "diagnosis", "basis", "treatment")


class Turn(ForeignModel):
    """One utterance; patient, examiner and doctor of one round share its number."""

    turn: int
    role: Literal["Doctor", "Patient", "Reporter"]
    content: str | None = None


class Dialogue(ForeignModel):
    """A consultation; the doctor's last words are the report."""

    patient_id: Text
    doctor: str = ""
    dialog_history: list[Turn] = Field(min_length=1)

    @property
    def report(self) -> str:
        """The doctor's last words."""
        return next((turn.content or "" for turn in reversed(self.dialog_history) if turn.role == "Doctor"), "")


class OneStep(ForeignModel):
    """A report written from the whole record at once."""

    patient_id: Text
    doctor: str = ""
    diagnosis: str | None

    @property
    def report(self) -> str:
        """The whole report, which the file calls diagnosis."""
        return self.diagnosis or ""


class Critique(ForeignModel):
    """The director's statement after a round; only in runs newer than the released ones."""

    turn: int
    host_critique: str | None = None


class Collaboration(OneStep):
    """The final report of several doctors, and the round in which their discussion ended."""

    final_turn: int = Field(ge=0)
    symptom_and_examination: str | None = None
    agreed: bool | None = Field(default=None, description="Whether the doctors agreed; the released runs do not say.")
    diagnosis_in_discussion: list[Critique] = Field(default_factory=list)


def _part(*names: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(*names))


class Reference(ForeignModel):
    """The expert's parts of the record, under the keys of records, of their English translation or of evaluations."""

    symptoms: str | None = _part("symptom", "symptoms", "现病史", "current_medical_history")
    examinations: str | None = _part("medical_test", "examinations", "辅助检查", "auxiliary_examinations")
    diagnosis: str | None = _part("诊断结果", "初步诊断", "diagnostic_results", "preliminary_diagnosis", "diagnosis")
    basis: str | None = _part("诊断依据", "diagnostic_basis", "basis")
    treatment: str | None = _part("诊治经过", "diagnosis_and_treatment_process", "treatment")

    @model_validator(mode="before")
    @classmethod
    def _has_a_part(cls, value: Any) -> Any:
        """Refuse an object without any of our keys: reports would be compared with nothing."""
        if isinstance(value, dict) and value and not _REFERENCE_KEYS & value.keys():
            found = ", ".join(map(repr, list(value)[:5]))
            raise ValueError(f"has none of the expert's parts (诊断结果 or diagnosis, and others); it has {found}")
        return value


_REFERENCE_KEYS = {
    str(name) for field in Reference.model_fields.values() for name in getattr(field.validation_alias, "choices", ())
}


class PatientRecord(ForeignModel):
    """A medical record, as far as reports are compared with it."""

    id: Text
    medical_record: Reference


class Evaluation(ForeignModel):
    """The director's grades of one report: analysis and option of each graded part."""

    doctor_name: str = ""
    patient_id: Text
    reference_diagnosis: Reference
    doctor_diagnosis: OneStep
    evaluation_result: str | None = Field(default=None, description="The director's full answer, if it was kept.")
    choices: dict[Part, str | None]
    analyses: dict[Part, str | None]

    @model_validator(mode="before")
    @classmethod
    def _by_part(cls, value: Any) -> Any:
        """Gather ``diagnosis_choice``, ``diagnosis_analyis`` (so spelt) and the like."""
        if not isinstance(value, dict) or "choices" in value:
            return value
        return {**value, "choices": _gather(value, ("choice",)), "analyses": _gather(value, ("analyis", "analysis"))}


_FOREIGN_PARTS: dict[Part, tuple[str, ...]] = {
    "symptoms": ("sympton", "symptom", "symptoms"),
    "examinations": ("test", "examination", "examinations"),
    "diagnosis": ("diagnosis",),
    "basis": ("basis",),
    "treatment": ("treatment",),
}


def _gather(value: dict[str, Any], endings: tuple[str, ...]) -> dict[str, Any]:
    keys = {
        part: next((f"{name}_{ending}" for name in names for ending in endings if f"{name}_{ending}" in value), None)
        for part, names in _FOREIGN_PARTS.items()
    }
    found = {part: key for part, key in keys.items() if key is not None}
    for key in found.values():
        if not isinstance(value[key], str | None):
            raise ValueError(f"{key}: expected text or null, found {value[key]!r:.40}")
    return {part: value[key] for part, key in found.items()}


class Report(ForeignModel):
    """A report from a dialogue, a one-step output, a collaboration or an evaluation."""

    patient_id: str
    report: str
    reference: Reference | None = None


Kind = type[Evaluation] | type[Dialogue] | type[Collaboration] | type[OneStep]


def read_evaluations(path: str | Path) -> Reading[Evaluation]:
    """Read the graded reports of a file, one grading per report."""
    reading = _distinct(read_records(path, Evaluation))
    if reading.records and not any(record.choices for record in reading.records):
        message = "has no *_choice field in any record; expected an evaluation with the options of its parts"
        reading.problems.append(Problem(str(path), "", "", message))
    return reading


def read_collaborations(path: str | Path) -> Reading[Collaboration]:
    """Read the collaborations of a file, one per patient."""
    return _distinct(read_records(path, Collaboration))


def read_reports(path: str | Path) -> Reading[Report]:
    """Read the reports of a file of any of the four kinds, which is that of its first record."""
    kind = kind_of(path) or OneStep
    reading = _distinct(read_records(path, kind))
    return Reading(path=reading.path, records=list(map(_report, reading.records)), problems=reading.problems)


def read_references(path: str | Path) -> tuple[dict[str, Reference], list[Problem]]:
    """Read the expert's parts by patient, from records or from evaluations."""
    first = Source(Path(path)).first
    if "medical_record" in first:
        records = read_records(path, PatientRecord)
        return {record.id: record.medical_record for record in records.records}, records.errors
    evaluations = read_records(path, Evaluation)
    return {record.patient_id: record.reference_diagnosis for record in evaluations.records}, evaluations.errors


def sections(report: str) -> dict[Part, str]:
    """Split a report by its headings (``#诊断结果#``, ``# Diagnosis``, ``**Diagnosis**``), also if spaced.

    Only a report without any of these is split where a line begins with the name of a part (``1. Diagnosis: ...``,
    ``【诊断结果】``), as a line of the basis may begin with "Symptoms:". A repeated heading joins its texts; a heading
    of no part ends the part before it. Texts are in the usual signs.
    """
    report = as_usually_typed(report)
    found: dict[Part, list[str]] = {}
    marks = list(_PATTERNS["heading"].finditer(report))
    if not marks:
        report = _PATTERNS["plain_heading"].sub(_as_heading, report)
        marks = list(_PATTERNS["heading"].finditer(report))
    for mark, end in zip(marks, [*(after.start() for after in marks[1:]), len(report)], strict=False):
        other = _PATTERNS["other_heading"].search(report, mark.end(), end)
        text = report[mark.end() : other.start() if other else end].strip(" \t\r\n\u3000#＃")
        part: Part = next(part for part in PARTS if mark[part])
        found.setdefault(part, []).extend([text] if text else [])
    return {part: "\n".join(texts) for part, texts in found.items()}


def _as_heading(found: re.Match[str]) -> str:
    """Return the beginning of a line as a heading if it names a part, or else as it is."""
    marked = f"#{found[1] or found[2]}#"
    return marked if _PATTERNS["heading"].fullmatch(marked) else found[0]


def kind_of(path: str | Path) -> Kind | None:
    """Return which of the four kinds a file is, by its first record; None if it is none of them."""
    first = Source(Path(path)).first
    kinds: dict[str, Kind] = {
        "doctor_diagnosis": Evaluation,
        "dialog_history": Dialogue,
        "final_turn": Collaboration,
        "diagnosis": OneStep,
    }
    # Doctors of AIE, AgentClinic and others give a diagnosis too, but of no patient_id.
    return next((kind for key, kind in kinds.items() if key in first and "patient_id" in first), None)


def _report(record: ForeignModel) -> Report:
    if isinstance(record, Evaluation):
        report = record.doctor_diagnosis.report
        return Report(patient_id=record.patient_id, report=report, reference=record.reference_diagnosis)
    assert isinstance(record, Dialogue | OneStep)
    return Report(patient_id=record.patient_id, report=record.report)


def _distinct(reading: Reading[Model]) -> Reading[Model]:
    """Return the reading with a problem for each patient that the same doctor saw twice."""
    keys = [(getattr(record, "doctor_name", ""), getattr(record, "patient_id", "")) for record in reading.records]
    first = {key: place for place, key in reversed([*enumerate(keys)])}
    repeated = [
        Problem(str(reading.path), f"patient {key[1]}", "patient_id", "appears twice; expected one record per patient")
        for place, key in enumerate(keys)
        if first[key] < place
    ]
    return dataclasses.replace(reading, problems=[*reading.problems, *repeated])
