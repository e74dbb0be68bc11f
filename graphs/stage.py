"""One clinical stage: recall, discuss, decide, be judged, revise (MedChain-Agent, section 4.1)."""

from collections.abc import Callable, Hashable
from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.state_graph import StateGraph
from graphs.subgraphs import send
from nodes.context import Context, context_of
from nodes.state.stage import StageInput, StageState
from nodes.strategies.recruiter import recruit_group
from nodes.strategies.registry import strategy
from nodes.workflow.case_retrieval import recall
from nodes.workflow.feedback_agent import judge, judges_of
from nodes.workflow.general_agent import discuss
from nodes.workflow.stage_control import can_be_judged, close_round, conclude, record_round
from nodes.workflow.stages import Stage
from nodes.workflow.summarizing_agent import decide


def each_general_agent(state: StageState, runtime: Runtime[Context]) -> list[Send]:
    """All seats speak at once; they see each other's last views, not the present ones."""
    return [send("discuss", state, seat=seat + 1) for seat in range(context_of(runtime).general_agents)]


def recall_first(state: StageState, runtime: Runtime[Context]) -> list[Send] | str:
    """With retrieval off nothing is recalled at all."""
    return "with retrieval" if context_of(runtime).retrieval else recruit_first(state, runtime)


def recruit_first(state: StageState, runtime: Runtime[Context]) -> list[Send] | str:
    """Where the specialists are neither those of the department nor named, a recruiter names them."""
    return "to be recruited" if context_of(runtime).specialties == "recruited" else each_general_agent(state, runtime)


def discuss_on_or_decide(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["all heard"]:
    """The first discussion has several rounds; after an objection one is enough, as it is for a single agent."""
    context = context_of(runtime)
    alone = context.general_agents == 1
    if state.get("round", 0) == 0 and not alone and state["discussion_round"] < context.discussion_rounds:
        return each_general_agent(state, runtime)
    return "all heard"


def agreed_or_revise(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["agreed, or rounds used up"]:
    """Two ends, agreed and exhausted; else the objections go back to the group."""
    return "agreed, or rounds used up" if state["ended"] else each_general_agent(state, runtime)


def each_judge_of(stage: Stage) -> Callable[[StageState, Runtime[Context]], list[Send] | Literal["nobody judges"]]:
    """Where a decision of the stage goes."""

    def each_judge(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["nobody judges"]:
        """All physicians of the subsequent stages judge at once; with feedback off, nobody."""
        if not can_be_judged(stage, state):  # of a plug-in; whoever files it says so
            return "nobody judges"
        return [send("judge", state, judge=name) for name in judges_of(stage, context_of(runtime))] or "nobody judges"

    return each_judge


@strategy("group")
def build_stage(stage: Stage) -> "StateGraph[StageState, Context, StageInput, Any]":
    """The graph of one stage; stages differ only in the data of their `Stage`."""
    builder = StateGraph(StageState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    builder.add_node(recall.at(stage=stage))  # the three nearest cases
    builder.add_node(recruit_group.at(stage=stage))
    builder.add_node(discuss.at(stage=stage))  # one general agent; fans out
    builder.add_node(close_round)
    builder.add_node(decide.at(stage=stage))  # the summarizing agent
    builder.add_node(judge.at(stage=stage))  # one physician of a later stage; fans out
    builder.add_node(record_round)
    builder.add_node(conclude.at(stage=stage))

    # The words are the edges' labels; what is sent to every member of a group goes past them to its node.
    seated: dict[Hashable, str] = {"to be recruited": "recruit_group", "each general agent": "discuss"}
    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", **seated})
    builder.add_conditional_edges("recall", recruit_first, seated)
    builder.add_conditional_edges("recruit_group", each_general_agent, {"each general agent": "discuss"})
    builder.add_edge("discuss", "close_round")
    builder.add_conditional_edges(
        "close_round", discuss_on_or_decide, {"another round": "discuss", "all heard": "decide"}
    )
    builder.add_conditional_edges(
        "decide", each_judge_of(stage), {"each judge": "judge", "nobody judges": "record_round"}
    )
    builder.add_edge("judge", "record_round")
    builder.add_conditional_edges(
        "record_round", agreed_or_revise, {"objections": "discuss", "agreed, or rounds used up": "conclude"}
    )
    builder.add_edge("conclude", END)
    return builder
