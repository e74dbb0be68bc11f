"""The gates as a suite: which of them a reconstructed dialogue passes. Rules alone, nobody is asked."""

from cases import Case
from llm import ModelSettings
from nodes.reconstruction.gates import GATES
from scoring.case_scores import CaseScores, Suite
from scoring.clini_eval.dialogue import ReconstructionAnswers


async def score(case: Case, answers: ReconstructionAnswers, settings: ModelSettings) -> CaseScores:
    """For each gate 1 if the dialogue passes it, else 0; None for all if no dialogue was written."""
    dialogue = answers.reconstructed
    if dialogue is None:
        return CaseScores.none_of(GATES, "no dialogue was written")
    return CaseScores({name: 0.0 if any(gate(dialogue)) else 1.0 for name, gate in GATES.items()})


suite = Suite(
    "gates",
    {name: name.replace("_", " ").capitalize() for name in GATES},
    score,
    needs=frozenset({"reconstruction"}),
    ends=(0.0, 1.0),
    notes="The share of dialogues that pass each gate (see nodes/reconstruction/gates.py).",
)
