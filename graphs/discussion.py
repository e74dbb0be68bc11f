"""Discussion under a director: disputes named, reports revised, disputes named again (AI Hospital, Algorithm 1)."""

from collections.abc import Hashable
from typing import Any

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.state_graph import StateGraph
from graphs.subgraphs import send
from nodes.collaboration.director import conclude, judge_agreement, list_disputes
from nodes.collaboration.intern import revise
from nodes.collaboration.records import adopt, file_collaboration
from nodes.collaboration.subject import Subject
from nodes.context import Context, context_of
from nodes.node import at_least_one
from nodes.state.collaboration import CollaborationOutput, ConferenceState, last_statements


def alone_or_judged(state: ConferenceState, runtime: Runtime[Context]) -> str:
    """Skip the discussion if there is only one doctor."""
    return "one doctor" if len(at_least_one(last_statements(state), state)) == 1 else judged(state, runtime)


def judged(state: ConferenceState, runtime: Runtime[Context]) -> str:
    """Let the director name the disputes; in the ablation, let it only judge whether the interns agree."""
    return "all heard" if context_of(runtime).dispute_resolution else "all heard, disputes not named"


def each_intern(state: ConferenceState, runtime: Runtime[Context]) -> list[Send] | str:
    """End if the interns agree or the rounds are used up; else let all revise, or with turn-taking the first one."""
    if state["ended"]:
        return "agreed, or rounds used up"
    seats = [statement.seat for statement in last_statements(state)]
    return [send("revise", state, seat=seat) for seat in (seats[:1] if context_of(runtime).turn_taking else seats)]


def next_intern(state: ConferenceState, runtime: Runtime[Context]) -> list[Send] | str:
    """With turn-taking, send to the next intern, who sees what was just said; else all have revised by now."""
    statements = last_statements(state)
    waiting = [statement.seat for statement in statements if statement.round < state["round"]]
    if context_of(runtime).turn_taking and waiting:
        return [send("revise", state, seat=waiting[0])]
    return judged(state, runtime)


def build_discussion(subject: Subject) -> StateGraph[ConferenceState, Context, ConferenceState, Any]:
    """Build the graph of one discussion; discussions differ only in their `Subject`."""
    builder = StateGraph(ConferenceState, context_schema=Context, output_schema=CollaborationOutput)
    builder.add_node(list_disputes.at(subject=subject))  # the director
    builder.add_node(judge_agreement.at(subject=subject))  # the director, in the ablation
    builder.add_node(revise.at(subject=subject))  # one intern; fans out
    builder.add_node(conclude.at(subject=subject))  # the director
    builder.add_node(adopt.at(subject=subject))
    builder.add_node(file_collaboration)

    director: dict[Hashable, str] = {"all heard": "list_disputes", "all heard, disputes not named": "judge_agreement"}
    ends: dict[Hashable, str] = {"not agreed": "revise", "agreed, or rounds used up": "conclude"}
    builder.add_conditional_edges(START, alone_or_judged, {**director, "one doctor": "adopt"})
    builder.add_conditional_edges("list_disputes", each_intern, ends)
    builder.add_conditional_edges("judge_agreement", each_intern, ends)
    builder.add_conditional_edges("revise", next_intern, {**director, "the next in turn": "revise"})
    builder.add_edge("conclude", "file_collaboration")
    builder.add_edge("adopt", "file_collaboration")
    builder.add_edge("file_collaboration", END)
    return builder
