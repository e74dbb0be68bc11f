"""One-step diagnosis: a report on the whole record, the upper bound of a consultation (AI Hospital, section 5)."""

from typing import Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.contexts import OneStepContext
from graphs.state_graph import StateGraph
from llm.tracing import UNTRACED
from nodes.consultation.final_report import report
from nodes.context import Context, context_of
from nodes.state.graph_states import ClinicalInput, ConsultationState
from nodes.workflow.admission import admit, disclose
from nodes.workflow.case_retrieval import recall, refine
from nodes.workflow.stages import DIAGNOSIS


def refine_first(state: ConsultationState, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """Refine the symptom description only if similar cases are recalled by it."""
    return "with retrieval" if context_of(runtime).retrieval else "without"


builder = StateGraph(ConsultationState, context_schema=OneStepContext, input_schema=ClinicalInput)
builder.add_node(admit.at(consultation=True))
builder.add_node(disclose)
builder.add_node(refine)
builder.add_node(recall.at(stage=DIAGNOSIS))
builder.add_node(report)  # the doctor

builder.add_edge(START, "admit")
builder.add_edge("admit", "disclose")
builder.add_conditional_edges("disclose", refine_first, {"with retrieval": "refine", "without": "report"})
builder.add_edge("refine", "recall")
builder.add_edge("recall", "report")
builder.add_edge("report", END)

graph = builder.compile(name="One-step diagnosis").with_config(callbacks=UNTRACED)
