"""MedChain's six scores of the clinical workflow (section 5.2)."""

from cases import Case
from llm import ModelSettings
from nodes.workflow.stages import STAGES
from scoring.case_scores import CaseScores, Suite
from scoring.medchain.answers import Answers, score_clinical_workflow


async def score(case: Case, answers: Answers, settings: ModelSettings) -> CaseScores:
    """Score each stage; a judge that fails leaves its stage unscored."""
    return await score_clinical_workflow(case, answers, settings)


suite = Suite(
    "medchain",
    dict(stage.column for stage in STAGES.values() if stage.column),
    score,
    needs=frozenset({"decisions"}),
    averaged=True,
    stages=tuple(dict.fromkeys(stage.column[0] for stage in STAGES.values() if stage.column and stage.breaks)),
    ends=(0.0, 1.0),
    judged=("examination", "diagnosis"),
)
