import asyncio
import threading
from typing import Any

import pytest
from langgraph.errors import EmptyInputError
from langgraph.graph import END, START
from langgraph.runtime import Runtime
from pydantic import BaseModel
from typing_extensions import TypedDict

from graphs.catalogue import GRAPHS
from graphs.state_graph import StateGraph


class Count(TypedDict, total=False):
    number: int


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_compiled_without_a_checkpointer_which_stops_the_development_server(name: str) -> None:
    assert GRAPHS[name].checkpointer is None and GRAPHS[name].builder is not None


async def test_a_condition_is_answered_where_it_is_asked_sync_and_async_with_what_it_asks_for() -> None:
    threads: list[int] = []

    def often_enough(state: Count, runtime: Runtime[Any]) -> str:
        threads.append(threading.get_ident())
        return "again" if state["number"] < runtime.context["most"] else "enough"

    async def begun(state: Count) -> str:
        return "begun"

    builder = StateGraph(Count, context_schema=dict)
    builder.add_node("more", lambda state: {"number": state.get("number", 0) + 1})
    builder.add_conditional_edges(START, begun, {"begun": "more"})
    builder.add_conditional_edges("more", often_enough, {"again": "more", "enough": END})
    graph = builder.compile()
    assert await graph.ainvoke({}, context={"most": 3}) == {"number": 3}
    assert threads == [threading.get_ident()] * 3
    builder = StateGraph(Count, context_schema=dict)
    builder.add_node("more", lambda state: {"number": state.get("number", 0) + 1})
    builder.add_edge(START, "more")
    builder.add_conditional_edges("more", often_enough, {"again": "more", "enough": END})
    assert builder.compile().invoke({}, context={"most": 2}) == {"number": 2}


def test_a_graph_of_ones_own_without_settings_has_no_form_of_them_and_wants_an_input() -> None:
    builder = StateGraph(Count)
    builder.add_node("more", lambda state: {"number": 1})
    builder.add_edge(START, "more")
    graph = builder.compile()
    assert graph.get_context_jsonschema() is None
    with pytest.raises(EmptyInputError):
        graph.invoke(None)


class Most(BaseModel):
    most: int = 1


@pytest.mark.parametrize(("given", "number"), [(None, 1), ({"most": 3}, 3), (Most(most=4), 4)])
def test_a_graph_of_ones_own_may_have_settings_that_know_no_models(given: Any, number: int) -> None:
    async def count(state: Count, runtime: Runtime[Most]) -> Count:
        return {"number": runtime.context.most}

    builder = StateGraph(Count, context_schema=Most)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    assert asyncio.run(builder.compile().ainvoke({}, context=given)) == {"number": number}
