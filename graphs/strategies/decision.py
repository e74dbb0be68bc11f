"""A decision of the clinical workflow by a strategy: judged like that of the stage's own group."""

from functools import cache
from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from cases.registry import RegistryError
from cases.validation import in_a_line
from graphs.stage import each_judge_of
from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.state.stage import StageInput, StageState
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.feedback_agent import judge
from nodes.workflow.stage_control import conclude, record_round, reopen
from nodes.workflow.stages import Stage


def agreed_or_revise(state: StageState) -> Literal["agreed, or rounds used up", "objections"]:
    """Two ends, agreed and exhausted; else the objections go back to those who decided."""
    return "agreed, or rounds used up" if state["ended"] else "objections"


@cache
def decision_by(strategy: str, stage: Stage) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph of a stage's decision by one strategy, compiled once.

    MedChain's group is judged and files its decision itself; what another strategy leaves as its decision is judged by
    the physicians of the later stages, goes back to it with their objections, and is filed here.

    Raises:
        RegistryError: there is no such strategy, or it cannot be built for this stage.
    """
    build = STRATEGIES[strategy]
    try:
        builder = build(stage)
        graph = builder.compile(name=f"{stage.name} by {strategy}")
    except Exception as error:  # of a stranger's code
        told = f"{type(error).__name__}: {in_a_line(error)}"
        raise RegistryError(f"strategy {strategy!r}, stage {stage.name}: {told}") from error
    if builder.output_schema is stage.output:
        return graph
    judged = StateGraph(StageState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    judged.add_node(strategy, graph, input_schema=StageInput)
    judged.add_node(judge.at(stage=stage))  # one physician of a later stage; fans out
    judged.add_node(record_round)
    judged.add_node(reopen)
    judged.add_node(conclude.at(stage=stage, strategy=strategy))

    judged.add_edge(START, strategy)
    judged.add_conditional_edges(strategy, each_judge_of(stage), {"each judge": "judge", "nobody judges": "conclude"})
    judged.add_edge("judge", "record_round")
    judged.add_conditional_edges(
        "record_round", agreed_or_revise, {"objections": "reopen", "agreed, or rounds used up": "conclude"}
    )
    judged.add_edge("reopen", strategy)
    judged.add_edge("conclude", END)
    return judged.compile(name=f"{stage.name} by {strategy}")
