"""The clinical workflow: referral, history-taking, examination, diagnosis, treatment (MedChain, figure 2).

Each stage has a feedback loop of its own (physicians of the later stages judge its decision). With ``max_backtracks``,
a case can also be sent back from the diagnosis to the examinations.
"""

import itertools
from collections.abc import Callable
from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from cases.registry import RegistryError
from graphs.contexts import clinical_context
from graphs.decision import decision_by
from graphs.examination import build_examination
from graphs.history_taking import build_history_taking
from graphs.recall import recall_first
from graphs.referral import build_referral
from graphs.state_graph import Graph, StateGraph
from nodes.context import Context, context_of
from nodes.state.graph_states import ClinicalInput, ClinicalState
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.admission import admit
from nodes.workflow.case_retrieval import refine
from nodes.workflow.examiner import examine
from nodes.workflow.follow_up import follow_up
from nodes.workflow.reviewer import review
from nodes.workflow.stages import STAGES, check_prompts, parts


def review_or_go_on(state: ClinicalState, runtime: Runtime[Context]) -> Literal["backtracks left", "none left"]:
    """Let the reviewer look at the findings as long as the case may still be sent back."""
    return "backtracks left" if state["backtracks"] < context_of(runtime).max_backtracks else "none left"


def sent_back_or_go_on(state: ClinicalState) -> Literal["something is missing", "nothing is missing"]:
    """Do the missing examinations if the reviewer named any; else continue with the next part."""
    return "something is missing" if state["sent_back"] else "nothing is missing"


# Parts with a graph of their own; every other part is a single decision.
PARTS: dict[str, Callable[[str], StateGraph[Any, Any, Any, Any]]] = {
    "referral": build_referral,
    "history_taking": build_history_taking,
    "examination": build_examination,
}
AROUND = ("admit", "refine", "review", "further_examination", "follow_up")  # nodes that are no part of the table


def part_by(strategy: str, part: str) -> Graph:
    """Return the graph of one part of the workflow, whose decisions are made by one strategy."""
    return PARTS[part](strategy).compile(name=part) if part in PARTS else decision_by(strategy, STAGES[part])


def check_places() -> None:
    """Check that each decision of the table of stages has a node of its own.

    Raises:
        RegistryError: another node has its name, or no graph asks for it.
    """
    for stage in STAGES.values():
        part, _, decision = stage.name.partition(".")
        if part in AROUND:
            raise RegistryError(f"stage {stage.name!r}: another node of the workflow has this name; choose another")
        if decision and (part not in PARTS or decision not in PARTS[part]("group").nodes):
            raise RegistryError(
                f"stage {stage.name!r}: no graph asks for this decision; choose a name without a dot, and the workflow "
                "has a node for it"
            )


def build_clinical_workflow(strategy: str = "group") -> StateGraph[Any, Any, Any, Any]:
    """Build the workflow, with its parts in the order of the table of stages.

    Raises:
        PromptError: the prompts of a stage are missing in one of the languages.
        RegistryError: there is no such strategy, or a stage has no place in the workflow.
    """
    check_places()
    check_prompts()
    builder = StateGraph(ClinicalState, context_schema=clinical_context(strategy), input_schema=ClinicalInput)
    builder.add_node(admit.at(strategy=strategy))
    builder.add_node(refine)
    for part in parts():
        builder.add_node(part, part_by(strategy, part))
    builder.add_node(review)
    builder.add_node("further_examination", examine)
    builder.add_node(follow_up.at(strategy=strategy))

    first, *_ = parts()
    following = dict(itertools.pairwise([*parts(), "follow_up"]))
    builder.add_edge(START, "admit")
    builder.add_conditional_edges("admit", recall_first, {"with retrieval": "refine", "without": first})
    builder.add_edge("refine", first)
    for part in parts():
        if part != "examination":
            builder.add_edge(part, following[part])
    next_part = following["examination"]
    builder.add_conditional_edges("examination", review_or_go_on, {"backtracks left": "review", "none left": next_part})
    builder.add_conditional_edges(
        "review", sent_back_or_go_on, {"something is missing": "further_examination", "nothing is missing": next_part}
    )
    builder.add_edge("further_examination", "examination")
    builder.add_edge("follow_up", END)
    return builder


@STRATEGIES.cached
def clinical_workflow_by(strategy: str) -> Graph:
    """Return the compiled workflow for one strategy; cached."""
    name = "Clinical workflow" if strategy == "group" else f"Clinical workflow by {strategy}"
    return build_clinical_workflow(strategy).compile(name=name)


graph = clinical_workflow_by("group")  # MedChain's
builder = graph.builder
