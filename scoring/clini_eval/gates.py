"""The gates as a suite: which of them a reconstructed dialogue passes. Rules alone, nobody is asked."""

from cases import Case
from llm import ModelSettings
from nodes.reconstruction.content import Told
from nodes.reconstruction.gates import GATES, entailed_by_the_note
from scoring.case_scores import CaseScores, Suite
from scoring.clini_eval.dialogue import ReconstructionAnswers


async def score(case: Case, answers: ReconstructionAnswers, settings: ModelSettings) -> CaseScores:
    """1 for each gate that the dialogue passes, else 0; None for all without a dialogue, for the reader's if unread."""
    dialogue = answers.reconstructed
    if dialogue is None:
        return CaseScores.none_of(GATES, "no dialogue was written")
    told = Told(dialogue)
    values: dict[str, float | None] = {name: 0.0 if any(gate(told)) else 1.0 for name, gate in GATES.items()}
    if dialogue.objections is not None:
        return CaseScores(values)
    unread = entailed_by_the_note.__name__
    return CaseScores(values | {unread: None}, {unread: "nobody held it against its note (entailment = true)"})


suite = Suite(
    "gates",
    {name: name.replace("_", " ").capitalize() for name in GATES},
    score,
    needs=frozenset({"reconstruction"}),
    ends=(0.0, 1.0),
    notes="The share of dialogues that pass each gate (see nodes/reconstruction/gates.py).",
)
