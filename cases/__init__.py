"""Cases: what a patient knows, what examinations show, and the answer key; the closed vocabularies; importers."""

from cases.case import AnswerKey, Case, ExaminationRecord, Image, PatientRecord, Provenance
from cases.files import CaseFileError, Problem, check_cases, load_cases, save_cases

__all__ = [
    "AnswerKey",
    "Case",
    "CaseFileError",
    "ExaminationRecord",
    "Image",
    "PatientRecord",
    "Problem",
    "Provenance",
    "check_cases",
    "load_cases",
    "save_cases",
]
