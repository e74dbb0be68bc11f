"""The dialogue: the doctor asks and the patient's side answers, until one of them ends it or no turn is left."""

from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.recall import recall_first
from graphs.state_graph import StateGraph
from graphs.subgraphs import chosen
from nodes.consultation.doctor import question
from nodes.context import Context, context_of
from nodes.patients.systems import PATIENTS, check_reply
from nodes.state.graph_states import InterviewOutput, InterviewState
from nodes.state.patient_side import PatientSideState, turn_number
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import PHYSICAL

patients_side = chosen(
    lambda context: PATIENTS[context.patient].graph,
    lambda context, state, given: check_reply(context.patient, given, state.get("dialogue", [])),
)


def open_first(state: InterviewState, runtime: Runtime[Context]) -> str:
    """Let the patient speak first if its system says so and the dialogue has not begun.

    A greeting counts as a turn, so at least one more must be left.
    """
    context = context_of(runtime)
    patient = PATIENTS[context.patient]
    opens = patient.opens and context.max_turns > patient.greets and not state.get("dialogue")
    return "patient opens" if opens else recall_first(state, runtime)


def ended_or_answer(
    state: InterviewState, runtime: Runtime[Context]
) -> Literal["asked", "concluded, or turns used up"]:
    """End if the doctor concluded or no turn is left; a patient who tracks actions still answers the last turn."""
    answered = "turn_limit" if PATIENTS[context_of(runtime).patient].tracks else ""
    return "asked" if state["dialogue_ended"] in ("", answered) else "concluded, or turns used up"


def ended_or_question(state: InterviewState, runtime: Runtime[Context]) -> str:
    """End if the patient ended the dialogue; recall cases after the patient's opening, before the first question."""
    if state.get("dialogue_ended"):
        return "answered for good"
    opening = PATIENTS[context_of(runtime).patient].greets
    return "answered" if turn_number(state["dialogue"]) > opening else recall_first(state, runtime)


def build_interview(consultation: bool = False) -> StateGraph[Any, Context, Any, Any]:
    """Build the graph of the dialogue.

    Args:
        consultation: whether the doctor orders examinations in the dialogue instead of after it.
    """
    builder = StateGraph(InterviewState, context_schema=Context, output_schema=InterviewOutput)
    builder.add_node(recall.at(stage=PHYSICAL))
    builder.add_node(question.at(consultation=consultation))  # the doctor
    builder.add_node("patient", patients_side, input_schema=PatientSideState)  # one of graphs/patients/

    builder.add_conditional_edges(
        START, open_first, {"patient opens": "patient", "with retrieval": "recall", "without": "question"}
    )
    builder.add_edge("recall", "question")
    builder.add_conditional_edges("question", ended_or_answer, {"asked": "patient", "concluded, or turns used up": END})
    builder.add_conditional_edges(
        "patient",
        ended_or_question,
        {"answered": "question", "answered for good": END, "with retrieval": "recall", "without": "question"},
    )
    return builder


builder = build_interview()
graph = builder.compile(name="Interview")
