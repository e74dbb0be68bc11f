"""Cases (patient record, examination results, answer key), the closed vocabularies, and the importers."""

from cases.case import AnswerKey, Case, ExaminationRecord, Image, PatientRecord, Provenance
from cases.files import CaseFileError, check_cases, load_cases, save_cases
from cases.problems import Problem
from cases.validation import InputError

__all__ = [
    "AnswerKey",
    "Case",
    "CaseFileError",
    "ExaminationRecord",
    "Image",
    "InputError",
    "PatientRecord",
    "Problem",
    "Provenance",
    "check_cases",
    "load_cases",
    "save_cases",
]
