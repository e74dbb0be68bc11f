"""MedChain's six scores of the clinical workflow (section 5.2)."""

from cases import Case
from cases.registry import RegistryError
from llm import ModelSettings
from nodes.workflow.stages import STAGES
from scoring.case_scores import CaseScores, Suite
from scoring.medchain.answers import REFERENCES, Answers, score_clinical_workflow, without_reference


async def score(case: Case, answers: Answers, settings: ModelSettings) -> CaseScores:
    """Score each stage; a judge that fails leaves its stage unscored."""
    return await score_clinical_workflow(case, answers, settings)


def columns() -> dict[str, str]:
    """Return the paper's columns in the order of the stages, with their titles.

    Raises:
        RegistryError: a stage names a column that nothing scores, which would be empty in every table.
    """
    found = dict(stage.column for stage in STAGES.values() if stage.column)
    if unscored := [name for name in found if name not in REFERENCES]:
        raise RegistryError(
            f"nodes/workflow/stages.py: column {unscored[0]!r} is not one of {', '.join(REFERENCES)}; leave it "
            f"out, and score the stage with a metric: @wr.metric({unscored[0]!r}, suite='medchain')"
        )
    return found


suite = Suite(
    "medchain",
    columns(),
    score,
    needs=frozenset({"decisions"}),
    averaged=True,
    stages=tuple(dict.fromkeys(stage.column[0] for stage in STAGES.values() if stage.column and stage.breaks)),
    ends=(0.0, 1.0),
    judged=("examination", "diagnosis"),
    without_reference=without_reference,
)
