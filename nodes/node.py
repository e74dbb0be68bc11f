"""Decorators that turn a coroutine into a node of a graph."""

import inspect
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import dropwhile
from typing import Any, TypeGuard, TypeVar, overload

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime

from cases.registry import GivenError, RegistryError, first_annotation, signature_of
from cases.validation import in_a_line, nearest
from llm import AnswerError, Role
from llm.ask import MayAsk, may_ask
from llm.background import run_in_background
from llm.events import tell
from llm.scopes import holding
from llm.trace import Event, Trace, collecting_calls, entry_id, file_event, merge_traces
from nodes.context import Context, context_of, refuse_configurable

NodeFunction = Callable[..., Awaitable[Mapping[str, Any]]]
Without = Callable[[Any], dict[str, Any]]
Asked = Role[Any] | CompiledStateGraph[Any, Any, Any, Any]  # a graph stands for the roles that it asks
Asks = Asked | Sequence[Asked] | Callable[..., Any] | None
ReadAsks = Sequence[Asked] | Callable[..., Any] | None
T = TypeVar("T")
DROPPED_SEAT = "dropped_seat"
_READ = "__pregel_read"  # under which LangGraph hands a node the means to read the state


class Node(Runnable[Any, dict[str, Any]]):
    """A node that works in sync and async graphs and adds its calls to the state's trace.

    The function receives only the state keys of the view that it declares, see `node`.
    """

    def __init__(
        self, function: NodeFunction, without: Without | None = None, asks: ReadAsks = None, **bound: Any
    ) -> None:
        """Run a function with some keyword arguments fixed; ``without`` as in `member`, None if there is no group."""
        self.name = function.__name__
        self.function = function
        self.without = without
        self.asks = asks
        self.bound = bound

    def at(self, **bound: Any) -> "Node":
        """Return the same node with some keyword arguments fixed, such as its stage."""
        return type(self)(self.function, self.without, self.asks, **{**self.bound, **bound})

    def asked(self, context: Context) -> Sequence[Any] | None:
        """Return the roles and graphs that it declares to ask with these settings; None if it declares nothing."""
        if self.asks is None or isinstance(self.asks, Sequence):
            return self.asks
        name = self.function.__name__
        try:
            return _listed(name, self.asks(context, **self.bound))
        except RegistryError:
            raise
        except Exception as error:  # of a plug-in
            what = f"{type(error).__name__}: {in_a_line(error)}"
            raise RegistryError(f"node {name!r}: asks, as a function of the settings: {what}") from error

    def _check_of(self, asked: Sequence[Any] | None, config: RunnableConfig, around: MayAsk) -> MayAsk:
        """Return what refuses a role that is not declared, here or by the node that runs the graph of this one.

        A node that declares a graph may ask the graph's roles only through it: then another task of LangGraph runs.
        """
        if asked is None:
            return around

        def check(role: Role[Any]) -> None:
            own = ((one.name, one.prompt) for one in asked if isinstance(one, Role))
            if (role.name, role.prompt) not in own:
                by_graph = _task_of(get_config()) != _task_of(config)
                if not (by_graph and any(isinstance(one, CompiledStateGraph) for one in asked)):
                    doing, missing = ("runs a graph that asks", "the graph") if by_graph else ("asks", "it")
                    what = f"{doing} the role {role.name!r}, but does not declare {missing}"
                    raise GivenError(f"node {self.name!r} {what}: @wr.node(asks=...)")
            if around is not None:
                around(role)

        return check

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the coroutine to completion, even inside a running event loop."""
        return run_in_background(self._run(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the coroutine in the running event loop."""
        return await self._run(input)

    async def _run(self, view: Any) -> dict[str, Any]:
        runtime: Runtime[Context] = get_runtime(Context)
        config = get_config()
        context = context_of(runtime)
        refuse_configurable(config, runtime)
        if again := _run_of(config):
            context = context.model_copy(update={"scope": entry_id(again, context.scope)})
        runtime = runtime.override(context=context)
        step, began = _path_of(config), time.perf_counter()
        tell("step_started", step=step)
        with collecting_calls() as calls, holding(may_ask, self._check_of(self.asked(context), config, may_ask.get())):
            try:
                update = await self.function(view, runtime, **self.bound)
            except AnswerError as error:
                if self.without is None or runtime.context.on_unreadable == "fail_case":
                    raise
                update = {**self.without(view), "trace": file_dropped_seat(error, runtime.context)}
        if not isinstance(update, Mapping):
            kind = type(update).__name__
            raise GivenError(f"node {self.name!r} returned {kind}; expected a dict of what it adds to the state")
        state: Mapping[str, Any] = config["configurable"][_READ].args[1]  # of the graph that runs the node
        for key in () if _is_ours(self.function) else update.keys() - state.keys():
            known = nearest(key, [name for name in state if name.isidentifier() and name[0] != "_"])
            raise GivenError(f"node {self.name!r} returned {key!r}, which the state of its graph lacks: {known}")
        tell("step_ended", step=step, seconds=time.perf_counter() - began)
        traced = {"trace": merge_traces(update.get("trace"), Trace(calls=tuple(calls)))} if calls else {}
        return {**update, **traced}


def _task_of(config: RunnableConfig) -> Any:
    """Return which run of a node the code stands in, also code that it runs in tasks and threads of its own."""
    return config.get("configurable", {}).get("checkpoint_ns")


def _run_of(config: RunnableConfig) -> str:
    """Return which run of its graph the code stands in, such as `run2`; "" unless a node around it runs several.

    From the outermost graph that runs again, each graph within it is named, or its first run would have the name of the
    second run of one within the first: `run2/run1`.
    """
    runs: list[int] = []
    for part in _parts_of(config):
        if part.isdigit():
            runs[-1] = int(part) + 1
        else:
            runs.append(1)
    return entry_id(*(f"run{run}" for run in dropwhile(lambda run: run == 1, runs[:-1])))


def _path_of(config: RunnableConfig) -> str:
    """Return the node's name after those of the graphs around it, such as `diagnosis/discuss`."""
    return "/".join(part.partition(":")[0] for part in _parts_of(config) if not part.isdigit())


def _parts_of(config: RunnableConfig) -> list[str]:
    """Return the node and the nodes around it; LangGraph numbers the graphs that one node runs, from the second on."""
    return str(_task_of(config) or "").split("|")


@overload
def node(function: NodeFunction, without: Without | None = None, *, asks: Asks = None) -> Node: ...
@overload
def node(*, asks: Asks) -> Callable[[NodeFunction], Node]: ...
def node(function: NodeFunction | None = None, without: Without | None = None, *, asks: Asks = None) -> Any:
    """Turn a coroutine ``(view, runtime) -> update`` into a node of a graph: ``@wr.node(asks=[role])``.

    Args:
        function: the coroutine; it gets the keys of the state that its view, a `TypedDict`, declares.
        without: given the view, returns the update if an answer cannot be read even after repair, see `member`.
        asks: the roles that it asks and the graphs that it runs, or a function that returns them, given the settings
            and what `Node.at` fixes: only these have models. Without it, a plug-in's node may ask any.

    Raises:
        RegistryError: the function is not a coroutine, takes no runtime, or does not annotate its view; ``asks`` is
            something else.
    """
    if function is None:
        return partial(node, asks=asks)
    if not inspect.isroutine(function):  # a role, or a partial
        raise RegistryError(f"node: expected a coroutine function, or asks=[ROLE]; found {type(function).__name__}")
    try:
        seen = first_annotation(function)
    except NameError as error:
        raise RegistryError(
            f"node {function.__name__!r}: the type of its view cannot be read ({error}); import it outside of `if "
            "TYPE_CHECKING`, and define it outside of functions"
        ) from error
    if seen is None or len(signature_of(function).parameters) < 2 or not inspect.iscoroutinefunction(function):
        raise RegistryError(
            f"node {function.__name__!r}: expected `async def {function.__name__}(state: VIEW, runtime)`, where"
            " the type VIEW names the part of the state that it sees, such as wr.StageState"
        )

    class NodeOfView(Node):
        async def __call__(self, view: seen) -> dict[str, Any]:  # type: ignore[valid-type]
            """LangGraph takes the node's input schema from this annotation."""
            return await self._run(view)

    if asks is None and _is_ours(function):
        asks = ()
    return NodeOfView(function, without, asks if _is_function(asks) else _listed(function.__name__, asks))


def _listed(name: str, asks: Any) -> Sequence[Asked] | None:
    """Return what a node declares to ask as a list, None if it is nothing; RegistryError if it cannot be asked."""
    listed = asks if asks is None or isinstance(asks, list | tuple) else [asks]
    for one in listed or ():
        if not isinstance(one, Role | CompiledStateGraph):
            raise RegistryError(
                f"node {name!r}: asks = {one!r:.60}; expected a wr.Role, a compiled graph, or a list of these"
            )
    return listed


def _is_function(asks: Any) -> TypeGuard[Callable[..., Any]]:
    return (inspect.isroutine(asks) or isinstance(asks, partial)) and not inspect.iscoroutinefunction(asks)


def _is_ours(function: NodeFunction) -> bool:
    return function.__module__.startswith("nodes.")


def member(without: Without = lambda view: {}, asks: Asks = None) -> Callable[[NodeFunction], Node]:
    """Like `node`, for a member of a group that can go on without it (``on_unreadable = "drop_seat"``).

    The node that collects the group's answers has to check that there is `at_least_one`.

    Args:
        without: given the view, returns the update if the answer cannot be read even after repair.
        asks: as in `node`.
    """
    return partial(node, without=without, asks=asks)


def at_least_one(answers: Collection[T], state: Mapping[str, Any]) -> Collection[T]:
    """Return the answers of a group unless there are none.

    Raises:
        AnswerError: there are none, since the last seat cannot be dropped; gives the reason of the last failed call.
    """
    if answers:
        return answers
    failed = [call for call in (state.get("trace") or Trace()).calls if call.error]
    why = f": {(failed[-1].error or '').partition(': ')[2]}" if failed else ""
    error = AnswerError(f"no answer of the group could be read, and the last seat cannot be dropped{why}")
    for call in failed[-1:]:
        error.call, error.stage = call.id, call.stage
        error.add_note(f"at {call.id}, model {call.model}")
    raise error


def file_found(context: Context, event: str, stage: str, place: Sequence[str], content: Mapping[str, Any]) -> Trace:
    """Record what a node found without asking anyone, by its place in the course of the case."""
    found = Event(id=entry_id(context.scope, stage, *place), event=event, stage=stage, content=content)
    return file_event(found, context.trace_file)


def file_dropped_seat(error: AnswerError, context: Context) -> Trace:
    """Record that a group goes on without one of its seats, with the call that failed."""
    content = {"call": error.call, "error": str(error)}
    event = Event(id=f"{error.call}/dropped", event=DROPPED_SEAT, stage=error.stage, content=content)
    return file_event(event, context.trace_file)
