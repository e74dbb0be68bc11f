"""Whole graphs in one node."""

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from graphs.subgraphs import chosen, seated
from nodes.context import Context

STEPS = 60


class Counted(TypedDict, total=False):
    steps: Annotated[int, operator.add]


def counting() -> Any:
    builder = StateGraph(Counted, context_schema=Context)
    builder.add_node("step", lambda state: {"steps": 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if state["steps"] >= STEPS else "step", ["step", END])
    return builder.compile()


@pytest.mark.parametrize(
    "node",
    [
        chosen(lambda context: counting(), lambda context, state, output: None),
        seated(counting(), lambda context, state: context, lambda sent, found: found),
    ],
    ids=["chosen", "seated"],
)
async def test_a_graph_in_a_node_ends_by_its_own_counter_and_not_by_a_limit_of_steps(node: Any) -> None:
    outer = StateGraph(Counted, context_schema=Context).add_node("seat", node).add_edge(START, "seat").compile()
    assert outer.invoke({"steps": 0}, context=Context())["steps"] == STEPS
    assert (await outer.ainvoke({"steps": 0}, context=Context()))["steps"] == STEPS
