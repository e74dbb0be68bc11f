"""AI Hospital's patient: speaks to the doctor or to the examiner, whose two steps it relays (AI Hospital, figure 2)."""

from typing import Literal

from langgraph.graph import END, START, StateGraph

from nodes.context import Context
from nodes.patients.ai_hospital.examiner import DeskState, parse_request, report_outcomes
from nodes.patients.ai_hospital.patient import relay, reply
from nodes.state.patient_side import PatientSideOutput, PatientSideState


class AiHospitalState(PatientSideState, DeskState, total=False):
    """The state of one reply."""


def spoken_to(state: AiHospitalState) -> Literal["to the doctor", "to the examiner"]:
    """The patient says whom the words are for."""
    return "to the examiner" if state["dialogue"][-1].addressee == "examiner" else "to the doctor"


builder = StateGraph(
    AiHospitalState, context_schema=Context, input_schema=PatientSideState, output_schema=PatientSideOutput
)
builder.add_node(reply)  # the patient
builder.add_node(parse_request)  # the examiner, first step: which examinations are named
builder.add_node(report_outcomes)  # the examiner, second step: the results of these
builder.add_node(relay)  # the patient again

builder.add_edge(START, "reply")
builder.add_conditional_edges("reply", spoken_to, {"to the examiner": "parse_request", "to the doctor": END})
builder.add_edge("parse_request", "report_outcomes")
builder.add_edge("report_outcomes", "relay")
builder.add_edge("relay", END)

graph = builder.compile(name="AI Hospital patient")
