"""One part of the clinical workflow run alone, on the record and the reference findings of the parts before it."""

from functools import cache, partial
from typing import Any

from langgraph.graph import END, START

from graphs.asked_roles import keys_asked
from graphs.clinical_workflow import part_by
from graphs.contexts import stage_context
from graphs.recall import recall_first
from graphs.state_graph import Graph, StateGraph
from nodes.state.graph_states import ClinicalInput, ClinicalState
from nodes.workflow.admission import admit
from nodes.workflow.case_retrieval import refine


def build_one_stage(part: str) -> StateGraph[Any, Any, Any, Any]:
    """Build the graph of one part of the workflow, starting from a case."""
    builder = StateGraph(ClinicalState, context_schema=stage_context(part), input_schema=ClinicalInput)
    builder.add_node(admit)
    builder.add_node(refine)
    builder.add_node(part, part_by("group", part))

    builder.add_edge(START, "admit")
    builder.add_conditional_edges("admit", recall_first, {"with retrieval": "refine", "without": part})
    builder.add_edge("refine", part)
    builder.add_edge(part, END)
    return builder


@cache
def stage_by_itself(part: str) -> Graph:
    """Return the compiled graph of one part of the workflow; cached."""
    graph = build_one_stage(part).compile(name=f"Stage {part}")
    stage_context(part).asks = partial(keys_asked, graph)
    return graph
