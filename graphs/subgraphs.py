"""Nodes that run a whole graph: one per member of a group, or one chosen by a setting."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.runtime import get_runtime
from langgraph.types import Send

from graphs.state_graph import Graph
from llm import AnswerError
from nodes.context import Context, context_of
from nodes.node import file_dropped_seat

# A member needs neither the records kept so far nor the whole case.
_NOT_SENT = ("trace", "decisions", "discussion", "case")
# Our graphs count their rounds and end long before this limit, which stops an endless graph of a plug-in before it
# costs much. Without it, LangChain allows 25 steps inside a node, and LangGraph 10,000 elsewhere.
STEP_LIMIT: RunnableConfig = {"recursion_limit": 2_000}


def send(node: str, state: Mapping[str, Any], **seat: Any) -> Send:
    """Send the state to one member of a group, with the keys that identify the member."""
    return Send(node, {**{key: value for key, value in state.items() if key not in _NOT_SENT}, **seat})


class Subgraph(RunnableLambda[Any, dict[str, Any]]):
    """A node that runs the graph that ``graph_of`` returns for the run's context."""

    def __init__(self, run: Any, arun: Any, graph_of: Callable[[Context], Graph]) -> None:
        super().__init__(run, arun)
        self.graph_of = graph_of


def seated(
    graph: Graph,
    context: Callable[[Context, Any], Context],
    update: Callable[[Any, dict[str, Any]], dict[str, Any]],
    *,
    may_drop: bool = False,
) -> Subgraph:
    """Return a node that runs a whole graph for one member of a group, in the member's own context.

    Args:
        graph: the graph; its output is not written to the group's state directly.
        context: returns the member's context, given the run's context and the state sent to the member.
        update: returns the update of the group's state, given the state sent and the graph's output.
        may_drop: whether the group may go on without a member whose answer cannot be read (``on_unreadable``).
    """

    def dropped(own: Context, error: AnswerError) -> dict[str, Any]:
        if not may_drop or own.on_unreadable == "fail_case":
            raise error
        return {"trace": file_dropped_seat(error, own)}

    def run(state: Any) -> dict[str, Any]:
        own = context(context_of(get_runtime(Context)), state)
        try:
            return update(state, graph.invoke(state, STEP_LIMIT, context=own))
        except AnswerError as error:
            return dropped(own, error)

    async def arun(state: Any) -> dict[str, Any]:
        own = context(context_of(get_runtime(Context)), state)
        try:
            return update(state, await graph.ainvoke(state, STEP_LIMIT, context=own))
        except AnswerError as error:
            return dropped(own, error)

    return Subgraph(run, arun, lambda _: graph)


def chosen(
    graph_of: Callable[[Context], Graph], check: Callable[[Context, Mapping[str, Any], Mapping[str, Any]], None]
) -> Subgraph:
    """Return a node that runs the graph chosen by the run's context, which may be a plug-in's.

    Args:
        graph_of: returns the graph; its output is written to the state unchanged.
        check: raises an error if the output is not valid for the state.
    """

    def run(state: Any) -> dict[str, Any]:
        context = context_of(get_runtime(Context))
        output = graph_of(context).invoke(_without_trace(state), STEP_LIMIT)
        check(context, state, output)
        return output

    async def arun(state: Any) -> dict[str, Any]:
        context = context_of(get_runtime(Context))
        output = await graph_of(context).ainvoke(_without_trace(state), STEP_LIMIT)
        check(context, state, output)
        return output

    return Subgraph(run, arun, graph_of)


def _without_trace(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state without its trace, so that the output holds only the chosen graph's calls."""
    return {key: value for key, value in state.items() if key != "trace"}
