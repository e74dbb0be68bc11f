"""MedChain's six scores of the clinical workflow (section 5.2)."""

from cases import Case
from llm import ModelSettings
from scoring.case_scores import CaseScores, Suite
from scoring.medchain.answers import Answers, score_clinical_workflow


async def score(case: Case, answers: Answers, settings: ModelSettings) -> CaseScores:
    """Score each stage; a judge that fails leaves its stage unscored."""
    return await score_clinical_workflow(case, answers, settings)


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
    needs=frozenset({"decisions"}),
    averaged=True,
    stages=("referral_level1", "history_taking", "examination", "diagnosis", "treatment"),
    ends=(0.0, 1.0),
)
