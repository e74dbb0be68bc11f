"""The clinical workflow: referral, history-taking, examination, diagnosis, treatment (MedChain, figure 2).

Feedback edges lead back inside each stage (physicians of the later stages judge its decision) and, with
``max_backtracks``, from the diagnosis back to the examinations.
"""

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.examination import graph as examination
from graphs.history_taking import graph as history_taking
from graphs.referral import graph as referral
from graphs.strategies.decision import decision
from nodes.context import Context, context_of
from nodes.state.chart import Findings
from nodes.state.graph_states import ClinicalInput, ClinicalState
from nodes.workflow.admission import admit, follow_up
from nodes.workflow.case_retrieval import refine
from nodes.workflow.examiner import examine
from nodes.workflow.reviewer import review
from nodes.workflow.stages import DIAGNOSIS, TREATMENT


def refine_first(state: ClinicalState, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """The symptom description is needed only where similar cases are recalled."""
    return "with retrieval" if context_of(runtime).retrieval else "without"


def review_or_diagnose(state: ClinicalState, runtime: Runtime[Context]) -> Literal["backtracks left", "none left"]:
    """The findings are reviewed as long as the case may still be sent back."""
    return "backtracks left" if state["backtracks"] < context_of(runtime).max_backtracks else "none left"


def sent_back_or_diagnose(state: ClinicalState) -> Literal["something is missing", "nothing is missing"]:
    """Two ends of the way back: nothing is missing, or the backtracks are used up."""
    return "something is missing" if state["sent_back"] else "nothing is missing"


def build_clinical_workflow(strategy: str | None = None) -> StateGraph[Any, Context, Any, Any]:
    """The workflow as a graph.

    Args:
        strategy: how diagnosis and treatment are decided, drawn with all its nodes; by the run's setting if None.
    """
    builder = StateGraph(ClinicalState, context_schema=Context, input_schema=ClinicalInput)
    builder.add_node(admit)
    builder.add_node(refine)
    builder.add_node("referral", referral)
    builder.add_node("history_taking", history_taking)
    builder.add_node("examination", examination)
    builder.add_node(review)
    builder.add_node("further_examination", examine)
    builder.add_node("diagnosis", decision(DIAGNOSIS, strategy), input_schema=Findings)
    builder.add_node("treatment", decision(TREATMENT, strategy), input_schema=Findings)
    builder.add_node(follow_up)

    builder.add_edge(START, "admit")
    builder.add_conditional_edges("admit", refine_first, {"with retrieval": "refine", "without": "referral"})
    builder.add_edge("refine", "referral")
    builder.add_edge("referral", "history_taking")
    builder.add_edge("history_taking", "examination")
    builder.add_conditional_edges(
        "examination", review_or_diagnose, {"backtracks left": "review", "none left": "diagnosis"}
    )
    builder.add_conditional_edges(
        "review",
        sent_back_or_diagnose,
        {"something is missing": "further_examination", "nothing is missing": "diagnosis"},
    )
    builder.add_edge("further_examination", "examination")
    builder.add_edge("diagnosis", "treatment")
    builder.add_edge("treatment", "follow_up")
    builder.add_edge("follow_up", END)
    return builder


builder = build_clinical_workflow()
graph = builder.compile(name="Clinical workflow")
