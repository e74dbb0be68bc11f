"""CliniChat's suites: Clini-Eval's points of consultations or reconstructions, and the gates of a reconstruction."""

import asyncio
from functools import partial

from cases import Case
from llm import UNANSWERED, ModelSettings
from nodes.reconstruction.gates import GATES, check_dialogue, entailed_by_the_note
from scoring.case_scores import CaseScores, Suite
from scoring.clini_eval.demonstration import NothingToScoreError
from scoring.clini_eval.dialogue import ReconstructionAnswers, dialogue_of_consultation
from scoring.clini_eval.instructor import score_clini_eval
from scoring.clini_eval.points import ASSESSABLE, ASSESSED, ENDS, LEAVES, MAINS, STATISTICS, TOTAL, statistics_of
from scoring.consultation import ConsultationAnswers

# As in tables 2 and 4: the dialogue's statistics first.
COLUMNS = (*STATISTICS, *MAINS, TOTAL, ASSESSED, ASSESSABLE)
_PARTLY = "some of its items were not assessed"
_SILENT = "no one spoke on this side of the dialogue"


async def score(
    case: Case, answers: ConsultationAnswers | ReconstructionAnswers, settings: ModelSettings, *, told: bool = True
) -> CaseScores:
    """Return the six main metrics and their total, out of 100; offline, the sum that rules can count and its maximum.

    With ``told``, the senior physician is given the diagnosis of the answer key; otherwise it is inferred, as in the
    paper.
    """
    if isinstance(answers, ConsultationAnswers):
        dialogue = dialogue_of_consultation(case, {"dialogue": answers.dialogue})
    elif answers.reconstructed is not None:
        dialogue = answers.reconstructed
    else:
        return CaseScores.none_of(suite.published, "no dialogue was written")
    if not told:
        dialogue = dialogue.model_copy(update={"diseases": [], "inferred": ""})
    counted = statistics_of(dialogue)
    silent = {name: _SILENT for name, value in counted.items() if value is None}
    try:
        found = await score_clini_eval(dialogue, settings)
    except NothingToScoreError as error:
        return CaseScores.none_of(suite.published, str(error))
    except UNANSWERED as error:
        unjudged = CaseScores.none_of((*MAINS, TOTAL, ASSESSED, ASSESSABLE), error)
        return CaseScores({**counted, **unjudged.values}, {**silent, **unjudged.unscored})
    values = {**counted, **found.mains, TOTAL: found.total, ASSESSED: found.assessed, ASSESSABLE: found.assessable}
    missing = {name: silent.get(name, _PARTLY) for name, value in values.items() if value is None}
    leaves = {name: points for name, points in found.by_name.items() if points is not None}  # extra columns
    return CaseScores(values | leaves, missing)


def _suite(name: str, told: bool, how: str) -> Suite:
    return Suite(
        name,
        {column: column for column in COLUMNS},
        partial(score, told=told),
        needs=frozenset({"dialogue"}),
        ends=ENDS,
        neither=(*STATISTICS, ASSESSED, ASSESSABLE),
        lengths=STATISTICS[1:],
        stands_in=dict.fromkeys((ASSESSED, ASSESSABLE), TOTAL),
        judged=(*MAINS, TOTAL),
        notes=f"Points out of 45, 25, 4, 10, 10 and 6 (100 in total); rules can count only some of them. {how}",
        parts=tuple(leaf.column for leaf in LEAVES.values()),
    )


suite = _suite("clini_eval", True, "The judge was told the diagnosis of the answer key.")
paper_suite = _suite("clini_eval_paper", False, "The judge inferred the diagnosis from the note, as in the paper.")


async def score_gates(case: Case, answers: ReconstructionAnswers, settings: ModelSettings) -> CaseScores:
    """Return 1 for each passed gate, else 0; None for all without a dialogue, for entailment if nobody checked it."""
    dialogue = answers.reconstructed
    if dialogue is None:
        return CaseScores.none_of(GATES, "no dialogue was written")
    problems = await asyncio.to_thread(check_dialogue, dialogue)  # takes a tenth of a second
    refused = {problem.gate for problem in problems}
    values: dict[str, float | None] = {name: 0.0 if name in refused else 1.0 for name in GATES}
    if dialogue.objections is not None:
        return CaseScores(values)
    unchecked = entailed_by_the_note.__name__
    return CaseScores(values | {unchecked: None}, {unchecked: "not checked against its note (set entailment = true)"})


gates = Suite(
    "gates",
    {name: name.replace("_", " ").capitalize() for name in GATES},
    score_gates,
    needs=frozenset({"reconstruction"}),
    ends=(0.0, 1.0),
    notes="Share of the dialogues that pass each gate (see nodes/reconstruction/gates.py).",
)
