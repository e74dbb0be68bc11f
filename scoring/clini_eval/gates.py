"""The gates as a suite: which gates a reconstructed dialogue passes, by rules alone."""

from cases import Case
from llm import ModelSettings
from nodes.reconstruction.content import Told
from nodes.reconstruction.gates import GATES, entailed_by_the_note
from scoring.case_scores import CaseScores, Suite
from scoring.clini_eval.dialogue import ReconstructionAnswers


async def score(case: Case, answers: ReconstructionAnswers, settings: ModelSettings) -> CaseScores:
    """Return 1 for each passed gate, else 0; None for all without a dialogue, for entailment if nobody checked it."""
    dialogue = answers.reconstructed
    if dialogue is None:
        return CaseScores.none_of(GATES, "no dialogue was written")
    content = Told(dialogue)
    values: dict[str, float | None] = {name: 0.0 if any(gate(content)) else 1.0 for name, gate in GATES.items()}
    if dialogue.objections is not None:
        return CaseScores(values)
    unchecked = entailed_by_the_note.__name__
    return CaseScores(values | {unchecked: None}, {unchecked: "not checked against its note (set entailment = true)"})


suite = Suite(
    "gates",
    {name: name.replace("_", " ").capitalize() for name in GATES},
    score,
    needs=frozenset({"reconstruction"}),
    ends=(0.0, 1.0),
    notes="Share of the dialogues that pass each gate (see nodes/reconstruction/gates.py).",
)
