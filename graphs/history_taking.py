"""History-taking: the dialogue, the physical and auxiliary orders, and the results of the orders."""

from collections.abc import Hashable
from typing import Any

from langgraph.graph import END, START
from langgraph.runtime import Runtime

from graphs.decision import decision_by
from graphs.interview import graph as interview
from graphs.state_graph import StateGraph
from nodes.context import Context, context_of
from nodes.state.graph_states import HistoryTakingInput, HistoryTakingOutput, HistoryTakingState
from nodes.workflow.case_retrieval import refine
from nodes.workflow.examiner import examine
from nodes.workflow.order_extraction import extract_orders
from nodes.workflow.stages import AUXILIARY, PHYSICAL


def ask_or_order(state: HistoryTakingState, runtime: Runtime[Context]) -> list[str]:
    """Start with the dialogue; if ``interactive`` is off, the doctors have read the record and order at once."""
    return ["interactive"] if context_of(runtime).interactive else order(state, runtime)


def refine_or_order(state: HistoryTakingState, runtime: Runtime[Context]) -> list[str]:
    """Describe the symptoms after the dialogue, if similar cases are to be recalled by them.

    The group orders once the description is there; orders from the dialogue are extracted at the same time.
    """
    context = context_of(runtime)
    if not context.retrieval:
        return order(state, runtime)
    return ["with retrieval", "orders from the dialogue"] if context.orders == "dialogue" else ["with retrieval"]


def order_by_group(state: HistoryTakingState, runtime: Runtime[Context]) -> list[str]:
    """Let the group order, now that the description is there; orders from the dialogue did not wait for it."""
    return order(state, runtime) if context_of(runtime).orders == "group" else []


def order(state: HistoryTakingState, runtime: Runtime[Context]) -> list[str]:
    """Start with physical orders, and in parallel auxiliary ones if ``order_groups`` is "side_by_side".

    With ``orders = "dialogue"``, extract the orders from the dialogue instead.
    """
    context = context_of(runtime)
    if context.orders == "dialogue":
        return ["orders from the dialogue"]
    return ["physical", "auxiliary"] if context.order_groups == "side_by_side" else ["physical"]


def auxiliary_in_turn(state: HistoryTakingState, runtime: Runtime[Context]) -> list[str]:
    """Order auxiliary examinations after the physical ones, in view of them (MedChain, B.1)."""
    return ["in turn"] if context_of(runtime).order_groups == "in_turn" else []


def build_history_taking(strategy: str = "group") -> StateGraph[Any, Context, Any, Any]:
    """Build history-taking, with both kinds of orders decided by one strategy."""
    builder = StateGraph(
        HistoryTakingState, context_schema=Context, input_schema=HistoryTakingInput, output_schema=HistoryTakingOutput
    )
    builder.add_node("interview", interview)
    builder.add_node(refine)
    builder.add_node("physical", decision_by(strategy, PHYSICAL))
    builder.add_node("auxiliary", decision_by(strategy, AUXILIARY))
    builder.add_node(extract_orders)
    builder.add_node(examine)

    groups: dict[Hashable, str] = {"physical": "physical", "auxiliary": "auxiliary"}
    orders: dict[Hashable, str] = {**groups, "orders from the dialogue": "extract_orders"}
    builder.add_conditional_edges(START, ask_or_order, {"interactive": "interview", **groups})
    builder.add_conditional_edges("interview", refine_or_order, {"with retrieval": "refine", **orders})
    builder.add_conditional_edges("refine", order_by_group, groups)
    builder.add_conditional_edges("physical", auxiliary_in_turn, {"in turn": "auxiliary"})
    builder.add_edge(["physical", "auxiliary"], "examine")  # waits for both groups
    builder.add_edge("extract_orders", "examine")
    builder.add_edge("examine", END)
    return builder


builder = build_history_taking()
graph = builder.compile(name="History-taking")
