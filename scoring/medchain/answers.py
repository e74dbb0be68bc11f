"""Score one run of the clinical workflow against the answer key (MedChain, section 5.2)."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from cases import AnswerKey, Case
from cases.strict import Strict
from cases.vocabulary import EXAMINATION_ITEMS, TREATMENT_ITEMS, Vocabulary, normalise
from llm import UNANSWERED, ModelSettings, side_by_side
from nodes.state.decisions import Referral
from scoring.case_scores import NO_KEY, CaseScores, judge_failed
from scoring.medchain.judges import judge_diagnosis, judge_report
from scoring.metrics.claims import claim_recall
from scoring.metrics.set_overlap import canonical_items, canonical_sub_departments, exact_match, intersection_over_union

INFERRED = "its reference is inferred, not stated; set inferred_keys = true to score it"
REFERENCES = {
    "referral_level1": "department",
    "referral_level2": "sub_departments",
    "history_taking": "examination_items",
    "examination": "imaging_reports",
    "diagnosis": "diagnosis",
    "treatment": "treatment_items",
}
"""The part of the answer key that is the reference of each score."""


class Answers(Strict):
    """The scored decisions of the workflow; what was not reached is empty.

    Attributes:
        referral: with ``urgency``, ``department`` and ``sub_departments``; None if there is none.
        orders: names of the physical and auxiliary items ordered, those that a review asked for included.
        reports: the report on each image class.
        diagnosis: names, the principal one first.
        treatment: names of the treatment items.
        decided: the decisions of stages without a field of their own, by stage: the fields of each by name.
    """

    referral: Referral | None = None
    orders: list[str] = Field(default_factory=list)
    reports: dict[str, str] = Field(default_factory=dict)
    diagnosis: list[str] = Field(default_factory=list)
    treatment: list[str] = Field(default_factory=list)
    decided: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        """Extract the answers from a final (or interrupted) state of the workflow."""
        diagnosis, treatment = state.get("diagnosis"), state.get("treatment")
        return cls(
            referral=state.get("referral"),
            orders=[
                item for kind in ("physical_orders", "auxiliary_orders", "requested") for item in state.get(kind, [])
            ],
            reports=state.get("reports", {}),
            diagnosis=diagnosis.names if diagnosis else [],
            treatment=treatment.items if treatment else [],
            decided=state.get("decided", {}),
        )


def without_reference(case: Case) -> dict[str, str]:
    """Return the scores without a reference in this case's key, with the reason: missing, or inferred and left out."""
    key = case.key
    found = {stage: getattr(key, part) for stage, part in REFERENCES.items()}
    found["treatment"] = key.treatment_items or [plan for plan in key.alternative_plans if plan.treatment_items]
    return {stage: _why_none(stage, key) for stage in found if not found[stage]}


def _why_none(stage: str, key: AnswerKey) -> str:
    return INFERRED if REFERENCES[stage] in key.inferred else NO_KEY


async def score_clinical_workflow(
    case: Case, answers: Answers | Mapping[str, Any], settings: ModelSettings
) -> CaseScores:
    """Compute the six scores of one case.

    ``answers`` may be the final state of the workflow. A missing answer scores 0 against its reference.

    Returns:
        A score in [0, 1] for each stage, or the reason why there is none: no reference, or a judge that failed.
    """
    key = case.key
    given = answers if isinstance(answers, Answers) else Answers.of(answers)
    referral = given.referral

    def overlap(items: Sequence[str], reference: Sequence[str], vocabulary: Vocabulary) -> float | None:
        return intersection_over_union(canonical_items(items, vocabulary), canonical_items(reference, vocabulary))

    plans = [key.treatment_items, *(plan.treatment_items for plan in key.alternative_plans)]
    treatments = [overlap(given.treatment, items, TREATMENT_ITEMS) for items in plans]
    scores: dict[str, float | None] = {
        "referral_level1": exact_match(referral.department if referral else None, key.department),
        "referral_level2": intersection_over_union(
            canonical_sub_departments(referral.sub_departments if referral else ()),
            canonical_sub_departments(key.sub_departments),
        ),
        "history_taking": overlap(given.orders, key.examination_items, EXAMINATION_ITEMS),
        **dict.fromkeys(("examination", "diagnosis")),
        "treatment": max((score for score in treatments if score is not None), default=None),
    }
    unscored: dict[str, str] = {}

    async def examination() -> float | None:
        judging = (
            judge_report(item, given.reports.get(item, ""), reference, settings, case.language)
            for item, reference in key.imaging_reports.items()
        )
        return claim_recall(await side_by_side(judging))

    async def grade() -> float | None:
        reference = [name for name in key.diagnosis if normalise(name)]
        if not reference:
            return None
        return (await judge_diagnosis(given.diagnosis, reference, settings, case.language)).score

    async def judged(stage: str, score: Awaitable[float | None]) -> None:
        try:
            scores[stage] = await score
        except UNANSWERED as error:
            scores[stage], unscored[stage] = None, judge_failed(error)

    await side_by_side([judged("examination", examination()), judged("diagnosis", grade())])
    for stage, score in scores.items():
        if score is None and stage not in unscored:
            unscored[stage] = _why_none(stage, key)
    return CaseScores(scores, unscored)
