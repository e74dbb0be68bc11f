"""The dialogue: the doctor asks, the patient's side answers, until somebody ends it or the turns are used up."""

from collections.abc import Hashable
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.patients.ai_hospital import graph as ai_hospital
from graphs.patients.medpmc import graph as patient_actor
from graphs.patients.saps import graph as saps
from nodes.consultation.doctor import question
from nodes.context import Context, context_of
from nodes.patients.ai_hospital.profile import introduce
from nodes.patients.clinichat import converse
from nodes.patients.medchain import answer
from nodes.state.graph_states import InterviewOutput, InterviewState
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import PHYSICAL

# The patient systems, by the name under which the context asks for them: a node each.
PATIENTS: dict[str, Any] = {
    "medchain": answer,
    "ai_hospital": ai_hospital,
    "saps": saps,
    "patient_actor": patient_actor,
    "clinichat": converse,
}


def introduce_first(state: InterviewState, runtime: Runtime[Context]) -> str:
    """AI Hospital's patient gets a profile and speaks first."""
    return "with a profile" if context_of(runtime).patient == "ai_hospital" else recall_first(state, runtime)


def recall_first(state: InterviewState, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """With retrieval off nothing is recalled at all."""
    return "with retrieval" if context_of(runtime).retrieval else "without"


def ended_or_answer(state: InterviewState, runtime: Runtime[Context]) -> str:
    """Two ends: the doctor concluded, or the turns are used up (the last question stays unanswered)."""
    return "concluded, or turns used up" if state["dialogue_ended"] else context_of(runtime).patient


def ended_or_question(state: InterviewState) -> Literal["patient ended", "answered"]:
    """A third end: the patient has nothing more to talk about."""
    return "patient ended" if state["dialogue_ended"] else "answered"


def build_interview(consultation: bool = False) -> StateGraph[Any, Context, Any, Any]:
    """The dialogue as a graph.

    Args:
        consultation: whether the doctor asks for examinations in the dialogue, and not after it.
    """
    builder = StateGraph(InterviewState, context_schema=Context, output_schema=InterviewOutput)
    builder.add_node(introduce)  # the author of the patient's profile
    builder.add_node(recall.at(stage=PHYSICAL))
    builder.add_node(question.at(consultation=consultation))  # the doctor

    memory: dict[Hashable, str] = {"with retrieval": "recall", "without": "question"}
    builder.add_conditional_edges(START, introduce_first, {"with a profile": "introduce", **memory})
    builder.add_conditional_edges("introduce", recall_first, memory)
    builder.add_edge("recall", "question")
    systems: dict[Hashable, str] = {}
    for name, system in PATIENTS.items():
        systems[name] = "answer" if name == "medchain" else name
        builder.add_node(systems[name], system)
        builder.add_conditional_edges(systems[name], ended_or_question, {"answered": "question", "patient ended": END})
    builder.add_conditional_edges("question", ended_or_answer, {**systems, "concluded, or turns used up": END})
    return builder


builder = build_interview()
graph = builder.compile(name="Interview")
