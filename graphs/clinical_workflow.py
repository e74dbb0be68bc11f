"""The clinical workflow: referral, history-taking, examination, diagnosis, treatment (MedChain, figure 2).

Feedback edges lead back inside each stage (physicians of the later stages judge its decision) and, with
``max_backtracks``, from the diagnosis back to the examinations.
"""

import itertools
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.contexts import ClinicalContext
from graphs.examination import graph as examination
from graphs.history_taking import graph as history_taking
from graphs.referral import graph as referral
from graphs.strategies.decision import decision
from llm.tracing import UNTRACED
from nodes.context import Context, context_of
from nodes.state.chart import Findings
from nodes.state.graph_states import ClinicalInput, ClinicalState
from nodes.workflow.admission import admit, follow_up
from nodes.workflow.case_retrieval import refine
from nodes.workflow.examiner import examine
from nodes.workflow.reviewer import review
from nodes.workflow.stages import STAGES, check_prompts, parts
from prompts.folders import languages


def refine_first(state: ClinicalState, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """The symptom description is needed only where similar cases are recalled."""
    return "with retrieval" if context_of(runtime).retrieval else "without"


def review_or_go_on(state: ClinicalState, runtime: Runtime[Context]) -> Literal["backtracks left", "none left"]:
    """The findings are reviewed as long as the case may still be sent back."""
    return "backtracks left" if state["backtracks"] < context_of(runtime).max_backtracks else "none left"


def sent_back_or_go_on(state: ClinicalState) -> Literal["something is missing", "nothing is missing"]:
    """Two ends of the way back: nothing is missing, or the backtracks are used up."""
    return "something is missing" if state["sent_back"] else "nothing is missing"


# The parts of the course that are more than a discussion and a decision.
PARTS: dict[str, Any] = {"referral": referral, "history_taking": history_taking, "examination": examination}


def build_clinical_workflow(strategy: str | None = None) -> StateGraph[Any, Any, Any, Any]:
    """The workflow as a graph, its parts in the order of the table of stages.

    Args:
        strategy: how diagnosis and treatment are decided, drawn with all its nodes; by the run's setting if None.

    Raises:
        PromptError: a stage has no words in one of the languages.
    """
    check_prompts(languages())
    builder = StateGraph(ClinicalState, context_schema=ClinicalContext, input_schema=ClinicalInput)
    builder.add_node(admit)
    builder.add_node(refine)
    for part in parts():
        if part in PARTS:
            builder.add_node(part, PARTS[part])
        else:
            stage = STAGES[part]
            builder.add_node(part, decision(stage, strategy if stage.by_strategy else "group"), input_schema=Findings)
    builder.add_node(review)
    builder.add_node("further_examination", examine)
    builder.add_node(follow_up)

    first, *_ = parts()
    following = dict(itertools.pairwise([*parts(), "follow_up"]))
    builder.add_edge(START, "admit")
    builder.add_conditional_edges("admit", refine_first, {"with retrieval": "refine", "without": first})
    builder.add_edge("refine", first)
    for part in parts():
        if part != "examination":
            builder.add_edge(part, following[part])
    next_part = following["examination"]
    builder.add_conditional_edges("examination", review_or_go_on, {"backtracks left": "review", "none left": next_part})
    builder.add_conditional_edges(
        "review",
        sent_back_or_go_on,
        {"something is missing": "further_examination", "nothing is missing": next_part},
    )
    builder.add_edge("further_examination", "examination")
    builder.add_edge("follow_up", END)
    return builder


builder = build_clinical_workflow()
graph = builder.compile(name="Clinical workflow").with_config(callbacks=UNTRACED)
