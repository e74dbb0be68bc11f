"""Dispute resolution on one decision: interns propose, and discuss under a director (AI Hospital, section 4.2)."""

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.discussion import build_discussion
from graphs.state_graph import StateGraph
from graphs.subgraphs import send
from nodes.collaboration.intern import revise
from nodes.collaboration.records import hand_on
from nodes.collaboration.subject import decision_on
from nodes.context import Context, context_of
from nodes.state.collaboration import ConferenceState
from nodes.state.stage import Decided, StageInput
from nodes.strategies.registry import strategy
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import Stage


def each_intern(state: ConferenceState, runtime: Runtime[Context]) -> list[Send]:
    """Let every intern make a first proposal alone, all in parallel."""
    return [send("propose", state, seat=seat + 1) for seat in range(context_of(runtime).interns)]


def recall_or_propose(state: ConferenceState, runtime: Runtime[Context]) -> list[Send] | str:
    """Recall similar cases only if retrieval is on."""
    return "with retrieval" if context_of(runtime).retrieval else each_intern(state, runtime)


@strategy("dispute_resolution")
def build_dispute_resolution(stage: Stage) -> StateGraph[ConferenceState, Context, StageInput, Decided]:
    """Build the graph of dispute resolution for one decision."""
    subject = decision_on(stage)
    discuss = f"discuss_{stage.name}"  # drawings of the workflow need unique names
    builder = StateGraph(ConferenceState, context_schema=Context, input_schema=StageInput, output_schema=Decided)
    builder.add_node(recall.at(stage=stage))
    builder.add_node("propose", revise.at(subject=subject))  # one intern; fans out
    builder.add_node(discuss, build_discussion(subject).compile(name="Discussion"))
    builder.add_node(hand_on)

    builder.add_conditional_edges(START, recall_or_propose, {"with retrieval": "recall", "without": "propose"})
    builder.add_conditional_edges("recall", each_intern, {"each intern": "propose"})
    builder.add_edge("propose", discuss)
    builder.add_edge(discuss, "hand_on")
    builder.add_edge("hand_on", END)
    return builder
