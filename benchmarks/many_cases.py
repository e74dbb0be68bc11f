"""Make any number of cases from the built-in ones."""

from itertools import cycle, islice
from pathlib import Path

from cases import load_cases, save_cases


def write_cases(file: Path, number: int) -> None:
    """Write cases without pictures under new ids; a number in each complaint gives every case a different embedding."""
    plain = [case for case in load_cases() if not case.examinations.images]
    cases = []
    for place, case in enumerate(islice(cycle(plain), number)):
        complaint = {"chief_complaint": f"{case.patient.chief_complaint} ({place})"}
        patient = case.patient.model_copy(update=complaint)
        cases.append(case.model_copy(update={"id": f"{place:05}-{case.id}", "patient": patient}))
    save_cases(cases, file)
