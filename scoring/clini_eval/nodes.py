"""The senior physician and the clinical instructor as nodes of a graph."""

from typing import Annotated, Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from cases.dialogues import Dialogue
from llm import Trace, merge_traces
from nodes.context import Context
from nodes.node import node
from scoring.clini_eval import demonstration as physician
from scoring.clini_eval import instructor
from scoring.clini_eval.demonstration import Demonstration
from scoring.clini_eval.points import CliniEvalScores, Comparison


class CliniEvalInput(TypedDict, total=False):
    """What is judged."""

    dialogue: Annotated[Dialogue, Field(description="A dialogue with its clinical note.")]


class CliniEvalState(CliniEvalInput, total=False):
    """What goes in, what the two persons made of it, and the scores that come out."""

    demonstration: Demonstration
    comparison: Comparison
    scores: CliniEvalScores
    trace: Annotated[Trace, merge_traces]


@node
async def demonstrate(state: CliniEvalInput, runtime: Runtime[Context]) -> dict[str, Any]:
    """The senior physician, who reads the note."""
    dialogue = Dialogue.model_validate(state["dialogue"])  # from Studio it is JSON
    demonstration = await physician.demonstrate(dialogue, runtime.context)
    return {"dialogue": dialogue, "demonstration": demonstration}


@node
async def compare(state: CliniEvalState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The clinical instructor's subjective assessment."""
    return {"comparison": await instructor.compare(state["dialogue"], state["demonstration"], runtime.context)}


@node
async def give_points(state: CliniEvalState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The clinical instructor's numbers."""
    dialogue, demonstration, comparison = state["dialogue"], state["demonstration"], state["comparison"]
    return {"scores": await instructor.give_points(dialogue, demonstration, comparison, runtime.context)}


@node
async def summarise(state: CliniEvalState, runtime: Runtime[Context]) -> dict[str, Any]:
    """The clinical instructor's summary."""
    dialogue, comparison, scores = state["dialogue"], state["comparison"], state["scores"]
    return {"scores": await instructor.summarise(dialogue, comparison, scores, runtime.context)}
