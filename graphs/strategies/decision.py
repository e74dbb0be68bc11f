"""A decision of the clinical workflow, by a strategy: each paper's doctors on one seat."""

from functools import cache
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graphs.seats import chosen
from nodes.context import Context
from nodes.state.stage import StageInput, StageState
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stage_control import conclude
from nodes.workflow.stages import Stage


@cache
def decision_by(strategy: str, stage: Stage) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph of a stage's decision by one strategy, compiled once.

    Ours file their decisions themselves; what a plug-in's graph leaves as its decision is filed here.
    """
    builder = STRATEGIES[strategy](stage)
    graph = builder.compile(name=f"{stage.name} by {strategy}")
    if builder.output_schema is stage.output:
        return graph
    filing = StateGraph(StageState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    filing.add_node(strategy, graph)
    filing.add_node(conclude.at(stage=stage, strategy=strategy))
    filing.add_edge(START, strategy)
    filing.add_edge(strategy, "conclude")
    filing.add_edge("conclude", END)
    return filing.compile(name=f"{stage.name} by {strategy}")


def decision(stage: Stage, strategy: str | None = None) -> Any:
    """A node that decides a stage.

    Args:
        stage: what is decided.
        strategy: how; by the run's setting if None, so that a graph can be built before a plug-in brings its strategy.
    """
    if strategy is not None:
        return decision_by(strategy, stage)
    return chosen(lambda context: decision_by(context.strategy, stage))
