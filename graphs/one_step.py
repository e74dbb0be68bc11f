"""One-step diagnosis: a report on the whole record, the upper bound of a consultation (AI Hospital, section 5)."""

from langgraph.graph import END, START

from graphs.contexts import OneStepContext
from graphs.recall import recall_first
from graphs.state_graph import Graph, StateGraph
from nodes.consultation.final_report import report
from nodes.state.graph_states import ClinicalInput, ConsultationState
from nodes.workflow.admission import admit, disclose
from nodes.workflow.case_retrieval import recall, refine
from nodes.workflow.stages import DIAGNOSIS

builder = StateGraph(ConsultationState, context_schema=OneStepContext, input_schema=ClinicalInput)
builder.add_node(admit.at(consultation=True))
builder.add_node(disclose)
builder.add_node(refine)
builder.add_node(recall.at(stage=DIAGNOSIS))
builder.add_node(report)  # the doctor

builder.add_edge(START, "admit")
builder.add_edge("admit", "disclose")
builder.add_conditional_edges("disclose", recall_first, {"with retrieval": "refine", "without": "report"})
builder.add_edge("refine", "recall")
builder.add_edge("recall", "report")
builder.add_edge("report", END)

graph: Graph = builder.compile(name="One-step diagnosis")
