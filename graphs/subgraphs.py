"""Whole graphs in one node: for each member of a group, or one that the run has chosen by name."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Send

from llm import AnswerError
from nodes.context import Context, context_of
from nodes.node import file_dropped_seat

# A person is handed the case and the discussion, not the minutes kept so far.
_MINUTES = ("trace", "decisions", "discussion", "case")
# A graph within a node would get LangChain's 25 steps, not LangGraph's; ours end by counters in their states.
_ANY_STEPS: RunnableConfig = {"recursion_limit": 10_000}


def send(node: str, state: Mapping[str, Any], **seat: Any) -> Send:
    """The state to one member of a group, with what tells this member from the others."""
    return Send(node, {**{key: value for key, value in state.items() if key not in _MINUTES}, **seat})


def seated(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    context: Callable[[Context, Any], Context],
    update: Callable[[Any, dict[str, Any]], dict[str, Any]],
    *,
    seat: bool = False,
) -> "Seated":
    """A node in which a whole graph is run for one member of a group, with a context of its own.

    Args:
        graph: what is run; what comes out of it is not written to the group's state as it stands.
        context: the member's context, from the run's and what was sent to the member.
        update: what is written to the group's state, from what was sent and what came out.
        seat: whether the group may go on without the member (``on_unreadable``).
    """

    def dropped(own: Context, error: AnswerError) -> dict[str, Any]:
        if not seat or own.on_unreadable == "fail_case":
            raise error
        return {"trace": file_dropped_seat(error, own)}

    def run(state: Any) -> dict[str, Any]:
        own = context(context_of(get_runtime(Context)), state)
        try:
            return update(state, graph.invoke(state, _ANY_STEPS, context=own))
        except AnswerError as error:
            return dropped(own, error)

    async def arun(state: Any) -> dict[str, Any]:
        own = context(context_of(get_runtime(Context)), state)
        try:
            return update(state, await graph.ainvoke(state, _ANY_STEPS, context=own))
        except AnswerError as error:
            return dropped(own, error)

    return Seated(run, arun, graph)


def chosen(
    graph: Callable[[Context], CompiledStateGraph[Any, Any, Any, Any]],
    check: Callable[[Context, Mapping[str, Any], Mapping[str, Any]], None] = lambda context, state, given: None,
) -> "Chosen":
    """A node in which the graph is run that the run's context chooses, so that what a plug-in brings can be chosen.

    Args:
        graph: gives the graph; what comes out of it is written to the state as it stands.
        check: raises an error if what comes out of it, for the state, is not what must.
    """

    def run(state: Any) -> dict[str, Any]:
        context = context_of(get_runtime(Context))
        given = graph(context).invoke(_findings(state), _ANY_STEPS)
        check(context, state, given)
        return given

    async def arun(state: Any) -> dict[str, Any]:
        context = context_of(get_runtime(Context))
        given = await graph(context).ainvoke(_findings(state), _ANY_STEPS)
        check(context, state, given)
        return given

    return Chosen(run, arun, graph)


def _findings(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state without the trace so far: what comes out is the calls of the chosen graph alone."""
    return {key: value for key, value in state.items() if key != "trace"}


class Seated(RunnableLambda[Any, dict[str, Any]]):
    """A node that runs a graph; ``graph`` says which."""

    def __init__(self, run: Any, arun: Any, graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        super().__init__(run, arun)
        self.graph = graph


class Chosen(RunnableLambda[Any, dict[str, Any]]):
    """A node that runs the graph that a context chooses; ``graph_of`` says which."""

    def __init__(self, run: Any, arun: Any, graph_of: Callable[[Context], Any]) -> None:
        super().__init__(run, arun)
        self.graph_of = graph_of
