"""As many cases as a benchmark wants, made of the built-in ones."""

from itertools import cycle, islice
from pathlib import Path

from cases import load_cases, save_cases


def write_cases(file: Path, number: int) -> None:
    """Write cases without pictures under new ids, each with a number in its complaint: no two are embedded alike."""
    plain = [case for case in load_cases() if not case.examinations.images]
    made = []
    for place, case in enumerate(islice(cycle(plain), number)):
        complaint = {"chief_complaint": f"{case.patient.chief_complaint} ({place})"}
        patient = case.patient.model_copy(update=complaint)
        made.append(case.model_copy(update={"id": f"{place:05}-{case.id}", "patient": patient}))
    save_cases(made, file)
