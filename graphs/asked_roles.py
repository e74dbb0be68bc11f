"""Find the roles that a graph can ask, by inspecting the functions of its nodes; a model map may name no others."""

from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph

from graphs.state_graph import Graph
from graphs.subgraphs import Subgraph
from llm import Role
from nodes.consultation.doctor import question
from nodes.consultation.doctors_chart import stage_of_doctor
from nodes.context import Context
from nodes.node import Node
from nodes.strategies.recruiter import recruit_group


def keys_asked(graph: Graph, context: Context) -> set[str]:
    """Return the keys of the model map that have an effect: ``role``, ``stage.role``, ``part.role``, also by seat."""
    return {key for role, stage in roles_asked(graph, context) for key in _keys(role, stage, context)}


def _keys(role: Role[Any], stage: str, context: Context) -> Iterator[str]:
    places = stage.split(".")
    seats = getattr(context, role.seated) if role.seated else role.seats
    for name in (role.name, *(f"{role.name}{seat + 1}" for seat in range(seats))):
        yield name
        for depth in range(len(places)):
            yield ".".join([*places[: depth + 1], name])


def roles_asked(graph: Graph, context: Context, around: tuple[Graph, ...] = ()) -> Iterator[tuple[Role[Any], str]]:
    """Yield each role that a graph can ask, with the stage at which it is asked; ``around`` are graphs that call it."""
    if any(graph is other for other in around):  # one that calls itself
        return
    around = (*around, graph)
    for specification in graph.builder.nodes.values():
        runnable: Any = specification.runnable
        if isinstance(runnable, CompiledStateGraph):
            yield from roles_asked(runnable, context, around)
        elif isinstance(runnable, Subgraph):
            yield from roles_asked(runnable.graph_of(context), context, around)
        elif isinstance(runnable, Node):
            yield from _roles_of(runnable, context, around)
        elif isinstance(function := getattr(runnable, "afunc", None), FunctionType):  # of a plug-in, without `wr.node`
            yield from _roles_of(Node(function), context, around)


def _roles_of(node: Node, context: Context, around: tuple[Graph, ...]) -> Iterator[tuple[Role[Any], str]]:
    """Yield the roles that a node's function refers to, itself or through helper functions (`_is_followed`)."""
    if node.function is recruit_group.function and context.specialties != "recruited":
        return
    target = node.bound.get("stage") or node.bound.get("subject")
    for found in _askers_in(cast(FunctionType, node.function)):
        if not isinstance(found, Role):
            yield from roles_asked(found, context, around)
            continue
        stage = target.name if found.stages and target else found.stage
        doctor = stage_of_doctor(context, node.bound.get("consultation", False))
        if node.function is not question.function or stage == doctor:
            yield found, stage


@cache
def _askers_in(function: FunctionType) -> tuple[Role[Any] | Graph, ...]:
    """Return the roles and graphs that a function refers to; cached, as they never change."""
    return tuple(_search(function, set()))


def _search(function: FunctionType, seen: set[FunctionType]) -> Iterator[Role[Any] | Graph]:
    seen.add(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names = [*_names_in(function.__code__)]
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells.items()}}
    for module in [known[name] for name in names if isinstance(known.get(name), ModuleType)]:
        if _is_followed(function, module.__name__):  # a role may be an attribute of its module: roles.doctor
            known = {**vars(module), **known}
    for value in [known.get(name) for name in [*names, *cells]]:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
        yield from (item for item in items if isinstance(item, Role | CompiledStateGraph))
        if isinstance(value, FunctionType) and _is_followed(function, value.__module__) and value not in seen:
            yield from _search(value, seen)


def _is_followed(function: FunctionType, module: str) -> bool:
    """Whether the search enters a module: the function's own, or, for a plug-in, any module of the same package."""
    package = function.__module__.partition(".")[0]
    return module == function.__module__ or (package != "nodes" and module.partition(".")[0] == package)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)
