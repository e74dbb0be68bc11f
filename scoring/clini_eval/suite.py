"""Clini-Eval's points of an interview: of our consultations (extrinsic) or reconstructions (intrinsic; CliniChat)."""

from cases import Case
from llm import UNANSWERED, ModelSettings
from scoring.case_scores import CaseScores, Suite
from scoring.clini_eval.demonstration import NothingToScoreError
from scoring.clini_eval.dialogue import ReconstructionAnswers, dialogue_of_consultation
from scoring.clini_eval.instructor import score_clini_eval
from scoring.clini_eval.points import ASSESSABLE, ASSESSED, MAINS, TOTAL
from scoring.consultation import ConsultationAnswers

_PARTLY = "some of its leaves were not assessed"


async def score(
    case: Case, answers: ConsultationAnswers | ReconstructionAnswers, settings: ModelSettings
) -> CaseScores:
    """The six mains and their total, of 100; offline, the sum of what rules can count and its maximum."""
    if isinstance(answers, ConsultationAnswers):
        dialogue = dialogue_of_consultation(case, {"dialogue": answers.dialogue})
    elif answers.reconstructed is not None:
        dialogue = answers.reconstructed
    else:
        return CaseScores.none_of(suite.published, "no dialogue was written")
    try:
        found = await score_clini_eval(dialogue, settings)
    except NothingToScoreError as error:
        return CaseScores.none_of(suite.published, str(error))
    except UNANSWERED as error:
        return CaseScores.none_of(suite.published, error)
    values = {**found.mains, TOTAL: found.total, ASSESSED: found.assessed, ASSESSABLE: found.assessable}
    return CaseScores(values, {name: _PARTLY for name, value in values.items() if value is None})


suite = Suite(
    "clini_eval",
    {name: name for name in (*MAINS, TOTAL, ASSESSED, ASSESSABLE)},
    score,
    needs=frozenset({"dialogue"}),
    neither=(ASSESSED, ASSESSABLE),
    notes="Points, of 45, 25, 4, 10, 10 and 6, 100 in all; by rules only some can be counted.",
)
