"""A decision of the clinical workflow, by the strategy that the context names: each paper's doctors on one seat."""

from collections.abc import Callable, Hashable
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graphs.stage import build_stage
from graphs.strategies.dispute_resolution import build_dispute_resolution
from graphs.strategies.mdagents import build_mdagents
from graphs.strategies.medagents import build_medagents
from graphs.strategies.single import build_single
from nodes.context import Context, context_of
from nodes.state.chart import Findings
from nodes.state.stage import StageState
from nodes.workflow.stages import Stage

# By the name under which the context asks for them; each takes the findings and gives the decision with its record.
STRATEGIES: dict[str, Callable[[Stage], Any]] = {
    "group": build_stage,
    "dispute_resolution": build_dispute_resolution,
    "medagents": build_medagents,
    "mdagents": build_mdagents,
    "single": build_single,
}


def by_strategy(state: StageState, runtime: Runtime[Context]) -> str:
    """The strategy of the run."""
    return context_of(runtime).strategy


def build_decision(stage: Stage) -> StateGraph[StageState, Context, Findings, Any]:
    """The graph of one decision with all its strategies."""
    builder = StateGraph(StageState, context_schema=Context, input_schema=Findings, output_schema=stage.output)
    nodes: dict[Hashable, str] = {name: f"{stage.name}_by_{name}" for name in STRATEGIES}  # unique in a drawing
    for name, build in STRATEGIES.items():
        builder.add_node(nodes[name], build(stage).compile(name=f"{stage.name} by {name}"))
        builder.add_edge(nodes[name], END)
    builder.add_conditional_edges(START, by_strategy, nodes)
    return builder
