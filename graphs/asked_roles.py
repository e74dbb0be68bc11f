"""Which roles a graph can ask, read off the nodes that it is built of: what a model map can have an effect on."""

from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph

from graphs.subgraphs import Chosen, Seated
from llm import Role
from nodes.consultation.final_report import stage_of_doctor
from nodes.context import Context
from nodes.node import Node


def keys_asked(graph: CompiledStateGraph[Any, Any, Any, Any], context: Context) -> set[str]:
    """The keys of the model map that can have an effect in a graph: ``role``, ``stage.role``, ``part.role``, seats."""
    return {key for role, stage in roles_asked(graph, context) for key in _keys(role, stage, context)}


def _keys(role: Role[Any], stage: str, context: Context) -> Iterator[str]:
    places = stage.split(".")
    seats = getattr(context, role.seated) if role.seated else role.seats
    for name in (role.name, *(f"{role.name}{seat + 1}" for seat in range(seats))):
        yield name
        for depth in range(len(places)):
            yield ".".join([*places[: depth + 1], name])


def roles_asked(graph: CompiledStateGraph[Any, Any, Any, Any], context: Context) -> Iterator[tuple[Role[Any], str]]:
    """Each role that a graph can ask, and the stage it is asked at."""
    for specification in graph.builder.nodes.values():
        runnable: Any = specification.runnable
        if isinstance(runnable, CompiledStateGraph):
            yield from roles_asked(runnable, context)
        elif isinstance(runnable, Seated):
            yield from roles_asked(runnable.graph, context)
        elif isinstance(runnable, Chosen):
            yield from roles_asked(runnable.graph_of(context), context)
        elif isinstance(runnable, Node):
            yield from _roles_of(runnable, context)


def _roles_of(node: Node, context: Context) -> Iterator[tuple[Role[Any], str]]:
    """The roles that a node's function names, or a function beside it that it calls."""
    if node.name == "recruit_group" and context.specialties != "recruited":
        return
    about = node._bound.get("stage") or node._bound.get("subject")
    for role in _roles_named(cast(FunctionType, node._function)):
        stage = about.name if role.stages and about else role.stage
        if node.name != "question" or stage == stage_of_doctor(context, node._bound.get("consultation", False)):
            yield role, stage


@cache
def _roles_named(function: FunctionType) -> tuple[Role[Any], ...]:
    """What a function names does not change: looked up once, and not for each context."""
    return tuple(_named_in(function, set()))


def _named_in(function: FunctionType, seen: set[FunctionType]) -> Iterator[Role[Any]]:
    seen.add(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names = [*_names(function.__code__)]
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells.items()}}
    for module in [known[name] for name in names if isinstance(known.get(name), ModuleType)]:
        if _beside(function, module.__name__):  # what is asked as roles.doctor
            known = {**vars(module), **known}
    for value in [known.get(name) for name in [*names, *cells]]:
        for role in value.values() if isinstance(value, dict) else [value]:
            if isinstance(role, Role):
                yield role
        if isinstance(value, FunctionType) and _beside(function, value.__module__) and value not in seen:
            yield from _named_in(value, seen)


def _beside(function: FunctionType, module: str) -> bool:
    """Whether a module is the function's own; of somebody else's package, any of it."""
    package = function.__module__.partition(".")[0]
    return module == function.__module__ or (package != "nodes" and module.partition(".")[0] == package)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
