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
    """Send to all seats in parallel; they see the opinions of the previous round, not of the current one."""
    return [send("discuss", state, seat=seat + 1) for seat in range(context_of(runtime).general_agents)]


def recall_or_recruit(state: StageState, runtime: Runtime[Context]) -> list[Send] | str:
    """Recall similar cases only if retrieval is on."""
    return "with retrieval" if context_of(runtime).retrieval else recruit_first(state, runtime)


def recruit_first(state: StageState, runtime: Runtime[Context]) -> list[Send] | str:
    """Let a recruiter name the specialists if the setting ``specialties`` says so."""
    return "to be recruited" if context_of(runtime).specialties == "recruited" else each_general_agent(state, runtime)


def discuss_on_or_decide(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["all heard"]:
    """Run all rounds of the first discussion; after an objection, or for a single agent, one round is enough."""
    context = context_of(runtime)
    alone = context.general_agents == 1
    if state.get("round", 0) == 0 and not alone and state["discussion_round"] < context.discussion_rounds:
        return each_general_agent(state, runtime)
    return "all heard"


def agreed_or_revise(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["agreed, or rounds used up"]:
    """Conclude if the decision is accepted or the rounds are used up; else return the objections to the group."""
    return "agreed, or rounds used up" if state["ended"] else each_general_agent(state, runtime)


def each_judge_of(stage: Stage) -> Callable[[StageState, Runtime[Context]], list[Send] | Literal["nobody judges"]]:
    """Return the router that sends a decision of the stage to its judges."""

    def each_judge(state: StageState, runtime: Runtime[Context]) -> list[Send] | Literal["nobody judges"]:
        """Send the decision to all judges in parallel, or to nobody if feedback is off."""
        if not can_be_judged(stage, state):  # left by a plug-in's strategy; `conclude` reports the error
            return "nobody judges"
        return [send("judge", state, judge=name) for name in judges_of(stage, context_of(runtime))] or "nobody judges"

    return each_judge


@strategy("group")
def build_stage(stage: Stage) -> "StateGraph[StageState, Context, StageInput, Any]":
    """Build the graph of one stage; stages differ only in their `Stage`."""
    builder = StateGraph(StageState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    builder.add_node(recall.at(stage=stage))  # the three nearest cases
    builder.add_node(recruit_group.at(stage=stage))
    builder.add_node(discuss.at(stage=stage))  # one general agent; fans out
    builder.add_node(close_round)
    builder.add_node(decide.at(stage=stage))  # the summarizing agent
    builder.add_node(judge.at(stage=stage))  # one physician of a later stage; fans out
    builder.add_node(record_round)
    builder.add_node(conclude.at(stage=stage))

    # If a router returns `Send`s, the key here is only the label of the edge in drawings.
    to_group: dict[Hashable, str] = {"to be recruited": "recruit_group", "each general agent": "discuss"}
    builder.add_conditional_edges(START, recall_or_recruit, {"with retrieval": "recall", **to_group})
    builder.add_conditional_edges("recall", recruit_first, to_group)
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
