"""One question of the director, answered by the patient system or by the examiner."""

from typing import Literal

from langgraph.graph import END, START

from graphs.interview import patients_side
from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.patients.ai_hospital.examiner import parse_request, report_outcomes
from nodes.state.graph_states import InquiryState
from nodes.state.patient_side import PatientSideState


def whom_to_ask(state: InquiryState) -> Literal["the patient", "the examiner"]:
    """Send questions about symptoms to the patient and questions about results to the examiner."""
    return "the examiner" if state["asked"] == "examiner" else "the patient"


builder = StateGraph(InquiryState, context_schema=Context)
builder.add_node("patient", patients_side, input_schema=PatientSideState)
builder.add_node(parse_request)  # the examiner, first step
builder.add_node(report_outcomes)  # the examiner, second step

builder.add_conditional_edges(START, whom_to_ask, {"the patient": "patient", "the examiner": "parse_request"})
builder.add_edge("patient", END)
builder.add_edge("parse_request", "report_outcomes")
builder.add_edge("report_outcomes", END)

graph = builder.compile(name="Inquiry")
