"""Cases, memories and departments with prompt injections in every free text."""

from typing import Any

from cases import Case
from cases.injections import attacks
from cases.vocabulary import DEPARTMENTS, Language
from retrieval import Neighbour, RememberedCase, remember

_KEY_TEXTS = ("diagnosis_basis", "treatment_course")
_RECORD_TEXTS = (
    "occupation",
    "chief_complaint",
    "present_illness",
    "past_history",
    "personal_history",
    "family_history",
)


def all_attacks(language: Language) -> str:
    """Return all attacks, joined by line breaks."""
    return "\n".join(attack.text(language) for attack in attacks())


def attacked(case: Case) -> Case:
    """Return the case with all attacks in every text of its records and key."""
    injection = all_attacks(case.language)

    def with_attacks(text: str) -> str:
        return f"{text}\n{injection}".strip()

    def each(texts: Any) -> dict[str, str]:
        return {item: with_attacks(text) for item, text in texts.items()}

    patient = {name: with_attacks(getattr(case.patient, name)) for name in _RECORD_TEXTS}
    key: dict[str, Any] = {name: with_attacks(getattr(case.key, name)) for name in _KEY_TEXTS}
    key["imaging_reports"] = each(case.key.imaging_reports)
    key["diagnosis"] = [with_attacks(name) for name in case.key.diagnosis]
    return case.model_copy(
        update={
            "patient": case.patient.model_copy(update=patient),
            "examinations": case.examinations.model_copy(
                update={"physical": each(case.examinations.physical), "auxiliary": each(case.examinations.auxiliary)}
            ),
            "key": case.key.model_copy(update=key),
        }
    )


def attacked_neighbours(case: Case) -> list[Neighbour]:
    """Return a memory that recalls one case with all attacks in its texts and diagnoses."""
    earlier: RememberedCase = remember(attacked(case)).model_copy(update={"id": "earlier"})
    return [Neighbour(case=earlier, similarity=0.9)]


def attacked_departments(language: Language) -> dict[str, list[str]]:
    """Return second-level departments of a data set whose names are attacks."""
    return {department: [all_attacks(language)] for department in DEPARTMENTS.names}
