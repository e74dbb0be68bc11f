"""A consultation: a doctor and any patient system in one dialogue with examinations, then the final report."""

from collections.abc import Hashable
from typing import Any

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.contexts import ConsultationContext
from graphs.interview import build_interview
from graphs.recall import recall_first
from graphs.state_graph import Graph, StateGraph
from nodes.consultation.final_report import report
from nodes.context import Context, context_of
from nodes.patients.systems import PATIENTS
from nodes.state.graph_states import ClinicalInput, ConsultationState
from nodes.workflow.admission import admit
from nodes.workflow.case_retrieval import recall, refine
from nodes.workflow.examiner import examine
from nodes.workflow.order_extraction import extract_orders
from nodes.workflow.stages import DIAGNOSIS


def examine_first(state: ConsultationState, runtime: Runtime[Context]) -> list[str]:
    """Do the suggested examinations after the dialogue, if the patient system has no examiner.

    At the same time, the history is described, so that similar cases can be recalled by it.
    """
    context = context_of(runtime)
    if PATIENTS[context.patient].examines:
        return [recall_first(state, runtime)]
    return ["examined afterwards", "with retrieval"] if context.retrieval else ["examined afterwards"]


def recall_at_once(state: ConsultationState, runtime: Runtime[Context]) -> list[str]:
    """Recall similar cases at once if the examinations were done in the dialogue; otherwise after them."""
    return ["examined in the dialogue"] if PATIENTS[context_of(runtime).patient].examines else []


def report_at_once(state: ConsultationState, runtime: Runtime[Context]) -> list[str]:
    """Report after the examinations if no similar cases are recalled."""
    return [] if context_of(runtime).retrieval else ["without"]


def build_consultation(admitted: bool = False) -> StateGraph[Any, Any, Any, Any]:
    """Build the graph of a consultation.

    Args:
        admitted: whether it starts from an admitted case (chart and records) instead of a case.
    """
    builder = StateGraph(
        ConsultationState,
        context_schema=Context if admitted else ConsultationContext,
        input_schema=ConsultationState if admitted else ClinicalInput,
    )
    builder.add_node("refine_complaint", refine)
    builder.add_node("interview", build_interview(consultation=True).compile(name="Interview"))
    builder.add_node(extract_orders)
    builder.add_node(examine)
    builder.add_node("refine_history", refine)
    builder.add_node(recall.at(stage=DIAGNOSIS))
    builder.add_node(report)  # the doctor

    first: dict[Hashable, str] = {"with retrieval": "refine_complaint", "without": "interview"}
    if admitted:
        builder.add_conditional_edges(START, recall_first, first)
    else:
        builder.add_node(admit.at(consultation=True))
        builder.add_edge(START, "admit")
        builder.add_conditional_edges("admit", recall_first, first)
    builder.add_edge("refine_complaint", "interview")
    builder.add_conditional_edges(
        "interview",
        examine_first,
        {"examined afterwards": "extract_orders", "with retrieval": "refine_history", "without": "report"},
    )
    builder.add_edge("extract_orders", "examine")
    builder.add_conditional_edges("examine", report_at_once, {"without": "report"})
    builder.add_conditional_edges("refine_history", recall_at_once, {"examined in the dialogue": "recall"})
    builder.add_edge(["examine", "refine_history"], "recall")  # waits for both
    builder.add_edge("recall", "report")
    builder.add_edge("report", END)
    return builder


builder = build_consultation()
graph: Graph = builder.compile(name="Consultation")
