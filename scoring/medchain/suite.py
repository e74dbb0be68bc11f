"""MedChain's six scores of the clinical workflow (section 5.2)."""

from cases import Case
from llm import ModelSettings
from scoring.medchain.answers import Answers, score_clinical_workflow
from scoring.suite import CaseScores, Suite


async def score(case: Case, answers: Answers, settings: ModelSettings) -> CaseScores:
    """Score each stage; a judge that fails leaves its stage unscored."""
    scores = await score_clinical_workflow(case, answers, settings)
    unscored: dict[str, str] = {stage: reason for stage, reason in scores.unscored.items()}  # noqa: C416 widens the keys
    return CaseScores(scores.model_dump(exclude={"unscored"}), unscored)


suite = Suite(
    "medchain",
    {
        "referral_level1": "Referral, level 1",
        "referral_level2": "Referral, level 2",
        "history_taking": "History-taking",
        "examination": "Examination",
        "diagnosis": "Diagnosis",
        "treatment": "Treatment",
    },
    score,
    averaged=True,
)
