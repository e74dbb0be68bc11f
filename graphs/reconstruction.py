"""Clini-Recon: turn a clinical note into an interview (CliniChat, section 3.2), or use one of the paper's role-plays.

Clini-Recon sets the roles, prepares knowledge, plans the interview, and writes it section by section, each in view of
those before. A section that the gates object to is written again. Each finished section is checkpointed.
"""

from collections.abc import Hashable
from typing import Annotated, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from cases.dialogues import Dialogue
from graphs.contexts import ReconstructionContext
from graphs.state_graph import Graph, StateGraph
from llm import Trace, merge_traces
from nodes.context import Context, context_of
from nodes.reconstruction.dialogue_writer import WritingState, write_directly, write_section, write_whole
from nodes.reconstruction.filing import NoteInput, file_dialogue, take_note
from nodes.reconstruction.knowledge import prepare_knowledge
from nodes.reconstruction.plan import plan_interview
from nodes.reconstruction.reader import read_dialogue
from nodes.reconstruction.role_play import PlayState, patient_replies, physician_speaks
from nodes.reconstruction.role_setting import set_roles


class ReconstructionState(NoteInput, WritingState, PlayState, total=False):
    """The state of a reconstruction."""

    dialogue: Dialogue
    trace: Annotated[Trace, merge_traces]


def way_of_writing(state: ReconstructionState, runtime: Runtime[Context]) -> str:
    """Choose Clini-Recon or one of the two role-plays."""
    return context_of(runtime).reconstruction


def at_once_or_by_section(state: ReconstructionState, runtime: Runtime[Context]) -> Literal["by section", "at once"]:
    """Write the whole dialogue in one call, as in the paper, or section by section."""
    return "at once" if context_of(runtime).whole_dialogue else "by section"


def next_section(state: ReconstructionState) -> Literal["next section, or objections", "all written"]:
    """Write the next section, or the same one again after objections, until the plan is complete."""
    return "all written" if state["section"] == len(state["plan"]) else "next section, or objections"


def ended_or_reply(state: ReconstructionState) -> Literal["ended, or turns used up", "goes on"]:
    """End the role-play if the physician ends it or the turns are used up."""
    return "ended, or turns used up" if state["dialogue_ended"] else "goes on"


def read_or_done(state: ReconstructionState, runtime: Runtime[Context]) -> Literal["to be read", "done"]:
    """Check the dialogue against its note if ``entailment`` is on."""
    return "to be read" if context_of(runtime).entailment else "done"


builder = StateGraph(ReconstructionState, context_schema=ReconstructionContext, input_schema=NoteInput)
builder.add_node(take_note)
builder.add_node(set_roles)
builder.add_node(prepare_knowledge)  # the clinical expert
builder.add_node(plan_interview)
builder.add_node(write_section)  # the author
builder.add_node(write_whole)
builder.add_node(write_directly)
builder.add_node(physician_speaks)
builder.add_node(patient_replies)
builder.add_node(file_dialogue)
builder.add_node(read_dialogue)

methods: dict[Hashable, str] = {
    "clini_recon": "prepare_knowledge",
    "direct": "write_directly",
    "interactive": "physician_speaks",
}
sections: dict[Hashable, str] = {"next section, or objections": "write_section", "all written": "file_dialogue"}
builder.add_edge(START, "take_note")
builder.add_edge("take_note", "set_roles")
builder.add_conditional_edges("set_roles", way_of_writing, methods)
builder.add_edge("prepare_knowledge", "plan_interview")
builder.add_conditional_edges(
    "plan_interview", at_once_or_by_section, {"by section": "write_section", "at once": "write_whole"}
)
builder.add_conditional_edges("write_section", next_section, sections)
builder.add_edge("write_whole", "file_dialogue")
builder.add_edge("write_directly", "file_dialogue")
builder.add_conditional_edges(
    "physician_speaks", ended_or_reply, {"goes on": "patient_replies", "ended, or turns used up": "file_dialogue"}
)
builder.add_edge("patient_replies", "physician_speaks")
builder.add_conditional_edges("file_dialogue", read_or_done, {"to be read": "read_dialogue", "done": END})
builder.add_edge("read_dialogue", END)

graph: Graph = builder.compile(name="Reconstruction")
