"""Strategies by name: ways to decide a stage of the clinical workflow."""

from collections.abc import Callable
from typing import Any

from langgraph.graph import StateGraph

from cases.registry import Registry, RegistryError, check_function, check_named
from nodes.workflow.stages import DIAGNOSIS, Stage

Build = Callable[[Stage], StateGraph[Any, Any, Any, Any]]

STRATEGIES: Registry[Build] = Registry("strategy")


def check_built_for(built: str, asked: str) -> None:
    """Refuse a setting that a graph would pass over, as it was built for another strategy.

    Raises:
        ValueError: they differ; says how the graph is built that was meant, or that there is no such strategy.
    """
    if asked != built:
        STRATEGIES[str(asked)]
        in_studio = "clinical_workflow" if asked == "group" else f"clinical_workflow_{asked}"
        raise ValueError(
            f"strategy: this graph was built for {built!r}; for {asked!r}, "
            f"wardround.build_clinical_workflow({asked!r}).compile(), or in Studio the graph {in_studio!r}"
        )


def check_graph(kind: str, name: str, builder: object) -> StateGraph[Any, Any, Any, Any]:
    """What a strategy or a patient is built as, if it is a graph whose nodes can be reached.

    Raises:
        RegistryError: it is none, or cannot be compiled.
    """
    if not isinstance(builder, StateGraph):
        raise RegistryError(f"{kind} {name!r}: its function gives {type(builder).__name__}, not a StateGraph")
    try:
        return builder.validate()
    except ValueError as error:
        raise RegistryError(f"{kind} {name!r}: {error}") from error


def strategy(name: str) -> Callable[[Build], Build]:
    """Register a strategy: a function that takes a stage and builds the graph of its decision.

    The graph takes the findings (`StageState`) and leaves the decision, of the type ``stage.decision``, under
    ``decision``. How it was come to it may leave too: ``ended`` (``agreed``, ``exhausted`` or ``not_judged``),
    ``minutes`` (what was decided in each round, ``{"decision": decision.model_dump()}``) and ``reply`` (in words, to
    the objections). Counters of its own have other names. It is built once on trial.

    Raises:
        RegistryError: the name is taken, or the function gives no `StateGraph`.
    """
    check_named("strategy", name)

    def register(build: Build) -> Build:
        check_function("strategy", name, build, "stage")
        check_graph("strategy", name, build(DIAGNOSIS))
        return STRATEGIES.add(name, build)

    return register
