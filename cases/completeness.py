"""Which parts a case must have; MedChain (3.1) and AI Hospital (2.1) dropped incomplete records."""

from collections.abc import Callable, Mapping

from cases.case import Case

PARTS: Mapping[str, Callable[[Case], object]] = {
    "history": lambda case: case.patient.present_illness,
    "results": lambda case: case.examinations.results or case.examinations.images,
    "department": lambda case: case.key.department,
    "examinations": lambda case: case.key.examination_items,
    "diagnosis": lambda case: case.key.diagnosis,
    "treatment": lambda case: case.key.treatment_items or case.key.treatment_course,
}


def missing(case: Case, required: tuple[str, ...] = tuple(PARTS)) -> list[str]:
    """Return the required parts that are missing; the complaint is always there."""
    return [part for part in required if not PARTS[part](case)]
