"""A stage's decision by any strategy: judged, revised and filed like a decision of the stage's own group."""

from typing import Literal

from langgraph.graph import END, START

from cases.registry import RegistryError
from cases.validation import in_a_line
from graphs.stage import each_judge_of
from graphs.state_graph import Graph, StateGraph
from nodes.context import Context
from nodes.state.stage import StageInput, StageState
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.feedback_agent import judge
from nodes.workflow.stage_control import conclude, record_round, reopen
from nodes.workflow.stages import Stage


def agreed_or_revise(state: StageState) -> Literal["agreed, or rounds used up", "objections"]:
    """Conclude if the decision is accepted or the rounds are used up; else return the objections to the strategy."""
    return "agreed, or rounds used up" if state["ended"] else "objections"


@STRATEGIES.cached
def decision_by(strategy: str, stage: Stage) -> Graph:
    """Return the compiled graph of a stage's decision by one strategy; cached.

    MedChain's group includes its judges and files its decision itself. The decision of another strategy is judged by
    the physicians of the later stages, returned with their objections, and filed by nodes added here.

    Raises:
        RegistryError: there is no such strategy, or it cannot be built for this stage.
    """
    build = STRATEGIES[strategy]
    try:
        builder = build(stage)
        graph = builder.compile(name=f"{stage.name} by {strategy}")
    except (Exception, SystemExit) as error:  # from a plug-in's code
        reason = f"{type(error).__name__}: {in_a_line(error)}"
        raise RegistryError(f"strategy {strategy!r}, stage {stage.name}: {reason}") from error
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
