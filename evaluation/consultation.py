"""How a consultation went: the report's diagnosis, the examinations that were asked for, and the five parts (MVME)."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from cases import Case
from cases.named_tests import named_tests
from cases.vocabulary import EXAMINATION_ITEMS, label
from evaluation.diagnosis import DiagnosisGrade, grade_offline
from evaluation.mvme_judges import MvmeGrades, ReportParts, grade
from evaluation.overlap import intersection_over_union
from models import ModelSettings
from nodes.recollection import wants_examination


class ConsultationScores(BaseModel):
    """One consultation against the answer key; None where the key has nothing to compare with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    diagnosis: DiagnosisGrade | None = Field(description="The five-level grade, by rules; 5 is best.")
    examinations: float | None = Field(description="Overlap (IoU) of the items asked for with the reference's; 0 to 1.")
    asked_for: list[str] = Field(description="The closed items of the examinations that the doctor asked for.")
    parts: MvmeGrades = Field(description="The five parts of the report, A to D.")


def items_asked_for(state: Mapping[str, Any]) -> list[str]:
    """The closed items of the examinations that the doctor named as wanted, in the order of the vocabulary."""
    named = {*state.get("physical_orders", []), *state.get("auxiliary_orders", [])}
    for turn in state.get("dialogue", []):
        if turn.speaker == "doctor" and wants_examination(turn.text):
            named |= {test.item for test in named_tests(turn.text)}
    return [item for item in EXAMINATION_ITEMS.names if item in named]


async def score_consultation(case: Case, state: Mapping[str, Any], settings: ModelSettings) -> ConsultationScores:
    """Compare the report of a finished consultation with the answer key.

    Raises:
        AskError: the director's model could not be asked, or gave no valid answer; offline it is a rule.
    """
    report, key = state["report"], case.key
    items = items_asked_for(state)
    results = [f"{label(item, case.language)}: {text}" for item, text in case.examinations.results.items()]
    return ConsultationScores(
        diagnosis=grade_offline(report.diagnosis, key.diagnosis),
        examinations=intersection_over_union(items, key.examination_items),
        asked_for=items,
        parts=await grade(
            ReportParts(
                symptoms=report.symptoms,
                examinations=report.examinations,
                diagnosis="\n".join(report.diagnosis),
                basis=report.basis,
                treatment=report.treatment,
            ),
            ReportParts(
                symptoms=" ".join(
                    part for part in (case.patient.chief_complaint, case.patient.present_illness) if part
                ),
                examinations="\n".join(results),
                diagnosis="\n".join(key.diagnosis),
                basis=key.diagnosis_basis,
                treatment=key.treatment_course,
            ),
            settings,
            case.language,
        ),
    )
