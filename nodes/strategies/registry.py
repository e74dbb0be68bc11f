"""The registry of strategies: ways to decide a stage of the clinical workflow."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import StateGraph

from cases.registry import Registry, RegistryError, check_function, check_named
from cases.validation import InputError
from nodes.state.stage import StageState
from nodes.workflow.stages import DIAGNOSIS, STAGES, Stage

Build = Callable[[Stage], StateGraph[Any, Any, Any, Any]]

STRATEGIES: Registry[Build] = Registry("strategy")


def check_built_for(built: str, asked: str) -> None:
    """Refuse a strategy setting that a graph would ignore because it was built for another strategy.

    Raises:
        InputError: they differ; says how to get the right graph, or that there is no such strategy.
    """
    if asked != built:
        STRATEGIES[str(asked)]
        in_studio = "clinical_workflow" if asked == "group" else f"clinical_workflow_{asked}"
        raise InputError(
            f"strategy: this graph was built for {built!r}; for {asked!r}, use "
            f"wardround.build_clinical_workflow({asked!r}).compile(), or in Studio the graph {in_studio!r}"
        )


def check_graph(kind: str, name: str, builder: object, state: type) -> StateGraph[Any, Any, Any, Any]:
    """Return the builder of a strategy or a patient system if it is a valid graph.

    Raises:
        RegistryError: it is not a `StateGraph`, it cannot be compiled, or its state has a key of ``state``, which the
            graph around it shares, for something else.
    """
    if not isinstance(builder, StateGraph):
        raise RegistryError(f"{kind} {name!r}: its function returns {type(builder).__name__}; expected a StateGraph")
    for key, channel in StateGraph(state).channels.items():
        if not isinstance(channel, BinaryOperatorAggregate):
            continue
        # Not `==`, which takes every lambda for equal, and fails for a partial.
        if getattr(builder.channels.get(key, channel), "operator", None) is not channel.operator:
            raise RegistryError(
                f"{kind} {name!r}: its state declares {key!r} otherwise than wr.{state.__name__}; rename it, or "
                "inherit it from there"
            )
    try:
        return builder.validate()
    except ValueError as error:
        raise RegistryError(f"{kind} {name!r}: {error}") from error


def strategy(name: str) -> Callable[[Build], Build]:
    """Register a strategy: a function that takes a stage and builds the graph of its decision.

    The graph takes the findings (`StageState`) and returns the decision, of the type ``stage.decision``, under
    ``decision``. It may also return how the decision was reached: ``ended`` (``agreed``, ``exhausted`` or
    ``not_judged``), ``minutes`` (the decision of each round, ``{"decision": decision.model_dump()}``) and ``reply``
    (text that answers the objections). Its own counters need other names. The function is called for each stage, as a
    check, and so that the model map knows the roles that it declares there.

    Raises:
        RegistryError: the name is taken, or the function does not return a `StateGraph`.
    """
    check_named("strategy", name)

    def register(build: Build) -> Build:
        check_function("strategy", name, build, "stage")
        check_graph("strategy", name, build(DIAGNOSIS), StageState)
        # Ours declare their roles when they are imported; every command would wait for their graphs.
        others = () if build.__module__.startswith("graphs.") else [*STAGES.values()]
        for stage in (one for one in others if one is not DIAGNOSIS):
            with suppress(Exception, SystemExit):  # told, with the stage, when a graph is built for it
                build(stage)
        return STRATEGIES.add(name, build, build)

    return register
