"""One question of the director to the patient, as the patient system answers it, or to the examiner."""

from collections.abc import Hashable
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.interview import PATIENTS
from nodes.context import Context, context_of
from nodes.patients.ai_hospital.examiner import parse_request, report_outcomes
from nodes.state.graph_states import InquiryState


def whom_to_ask(state: InquiryState, runtime: Runtime[Context]) -> str | Literal["the examiner"]:
    """Symptoms are the patient's to confirm, results the examiner's."""
    return "the examiner" if state["asked"] == "examiner" else context_of(runtime).patient


builder = StateGraph(InquiryState, context_schema=Context)
builder.add_node(parse_request)  # the examiner, first step
builder.add_node(report_outcomes)  # the examiner, second step
systems: dict[Hashable, str] = {}
for name, system in PATIENTS.items():
    systems[name] = f"ask_{name}"
    builder.add_node(systems[name], system)
    builder.add_edge(systems[name], END)

builder.add_conditional_edges(START, whom_to_ask, {**systems, "the examiner": "parse_request"})
builder.add_edge("parse_request", "report_outcomes")
builder.add_edge("report_outcomes", END)

graph = builder.compile(name="Inquiry")
