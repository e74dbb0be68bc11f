"""The roles that the nodes of a graph declare to ask; a model map may name no others."""

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from graphs.state_graph import Graph
from graphs.subgraphs import Subgraph
from llm import Role
from llm.role import declared_roles
from nodes.context import Context
from nodes.node import Node


def keys_asked(graph: Graph, context: Context) -> set[str]:
    """Return the keys of the model map that have an effect: ``role``, ``stage.role``, ``part.role``, also by seat.

    A node of a plug-in that declares nothing may ask any role of its package, and those that its module imports.
    """
    silent = [node.function for node in _nodes(graph, context) if node.asked(context) is None]
    beside = [role for role in declared_roles().values() if any(_is_near(role, function) for function in silent)]
    asked = [*roles_asked(graph, context), *((role, stage) for role in beside for stage in role.stages or [role.stage])]
    return {key for role, stage in asked for key in _keys(role, stage, context)}


def roles_asked(graph: Graph, context: Context) -> Iterator[tuple[Role[Any], str]]:
    """Yield each role that the nodes of a graph declare to ask, with the stage at which it is asked."""
    for node in _nodes(graph, context):
        target = node.bound.get("stage") or node.bound.get("subject")
        for role in node.asked(context) or ():
            if isinstance(role, Role):
                yield role, target.name if role.stages and target else role.stage


def _nodes(graph: Graph, context: Context, around: tuple[Graph, ...] = ()) -> Iterator[Node]:
    """Yield the nodes of a graph and of the graphs that it runs; ``around`` are those that run it."""
    for specification in graph.builder.nodes.values():
        runnable: Any = specification.runnable
        if isinstance(runnable, Subgraph):
            runnable = runnable.graph_of(context)
        elif isinstance(function := getattr(runnable, "afunc", None), FunctionType):  # of a plug-in, without `wr.node`
            runnable = Node(function)
        if isinstance(runnable, Node):
            yield runnable
        for run in runnable.asked(context) or () if isinstance(runnable, Node) else [runnable]:
            if isinstance(run, CompiledStateGraph) and all(run is not other for other in (graph, *around)):
                yield from _nodes(run, context, (graph, *around))


def _keys(role: Role[Any], stage: str, context: Context) -> Iterator[str]:
    places = stage.split(".")
    seats = getattr(context, role.seated) if role.seated else role.seats
    for name in (role.name, *(f"{role.name}{seat + 1}" for seat in range(seats))):
        yield name
        for depth in range(len(places)):
            yield ".".join([*places[: depth + 1], name])


def _is_near(role: Role[Any], function: Any) -> bool:
    """Whether a role's rule is in the package of a function, or the role in its module."""
    if _package(role.offline) == _package(function):
        return True
    return any(value is role for value in getattr(function, "__globals__", {}).values())


def _package(code: Any) -> str:
    return str(getattr(getattr(code, "func", code), "__module__", "")).partition(".")[0]
