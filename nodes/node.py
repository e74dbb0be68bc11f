"""The one decorator of the cast: a coroutine that reads a view and asks, as a node of a graph."""

import asyncio
import concurrent.futures
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from llm.trace import Trace, collecting_calls, merge_traces
from nodes.context import Context, context_of, refuse_configurable

NodeFunction = Callable[..., Awaitable[dict[str, Any]]]


class Node(Runnable[Any, dict[str, Any]]):
    """A node that works in sync and async graphs alike and puts its calls into the state's trace.

    What is not in the view that the function declares does not reach it, see `node`.
    """

    def __init__(self, function: NodeFunction, **bound: Any) -> None:
        self.name = function.__name__
        self._function = function
        self._bound = bound

    def at(self, **bound: Any) -> "Node":
        """The same node with some keyword arguments fixed, such as the stage it serves."""
        return type(self)(self._function, **{**self._bound, **bound})

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the coroutine to its end, also from inside a running event loop."""
        return _run_in_background(self._run(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the coroutine in the running event loop."""
        return await self._run(input)

    async def _run(self, view: Any) -> dict[str, Any]:
        runtime: Runtime[Context] = get_runtime(Context)
        refuse_configurable(get_config(), runtime)
        runtime = runtime.override(context=context_of(runtime))
        with collecting_calls() as calls:
            update = await self._function(view, runtime, **self._bound)
        return {**update, "trace": merge_traces(update.get("trace"), Trace(calls=tuple(calls)))} if calls else update


def node(function: NodeFunction) -> Node:
    """Make a coroutine ``(view, runtime) -> update`` a node of a graph."""
    first = next(iter(inspect.signature(function).parameters))
    declared = inspect.get_annotations(function, eval_str=True)[first]

    class NodeOfView(Node):
        async def __call__(self, view: declared) -> dict[str, Any]:  # type: ignore[valid-type]
            """LangGraph takes the node's input schema from this annotation."""
            return await self._run(view)

    return NodeOfView(function)


def _run_in_background(work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Wait for a coroutine that runs in the process's own event loop.

    One loop for all sync calls, so that their connections are shared; the caller's context variables go along,
    since LangGraph keeps the running configuration in one.
    """
    outcome: concurrent.futures.Future[dict[str, Any]] = concurrent.futures.Future()

    async def run() -> None:
        try:
            outcome.set_result(await work)
        except BaseException as error:
            outcome.set_exception(error)

    loop = _background_loop()
    loop.call_soon_threadsafe(partial(loop.create_task, run(), context=contextvars.copy_context()))
    return outcome.result()


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="wardround-sync", daemon=True).start()
    return loop
