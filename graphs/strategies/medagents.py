"""MedAgents: experts recruited, their analyses, one report, votes on it up to three times (Tang et al., 2023)."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from graphs.seats import send
from graphs.strategies.recall import recall_first
from nodes.context import Context
from nodes.state.experts import PanelState
from nodes.state.stage import StageInput
from nodes.strategies.decision_maker import decide_by_reports
from nodes.strategies.domain_expert import analyse, vote
from nodes.strategies.recruiter import recruit
from nodes.strategies.registry import strategy
from nodes.strategies.report_writer import count_votes, synthesise
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stage_control import conclude
from nodes.workflow.stages import Stage


def each_expert(state: PanelState) -> list[Send]:
    """All experts analyse at once, and do not see each other's analyses."""
    return [send("analyse", state, expert=expert, seat=seat) for seat, expert in enumerate(state["experts"], start=1)]


def each_voter(state: PanelState) -> list[Send]:
    """All experts vote at once."""
    return [send("vote", state, expert=expert, seat=seat) for seat, expert in enumerate(state["experts"], start=1)]


def agreed_or_revise(state: PanelState) -> str:
    """Two ends, all accept and votes used up; else the report is revised by the objections."""
    return "all accept, or votes used up" if state["ended"] else "objections"


@strategy("medagents")
def build_medagents(stage: Stage) -> StateGraph[PanelState, Context, StageInput, Any]:
    """The graph of MedAgents for one decision."""
    builder = StateGraph(PanelState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    builder.add_node(recall.at(stage=stage))
    builder.add_node(recruit.at(stage=stage))
    builder.add_node(analyse.at(stage=stage))  # one expert; fans out
    builder.add_node(synthesise.at(stage=stage))
    builder.add_node(vote.at(stage=stage))  # one expert; fans out
    builder.add_node(count_votes)
    builder.add_node(decide_by_reports.at(stage=stage))
    builder.add_node(conclude.at(stage=stage, strategy="medagents"))

    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "recruit"})
    builder.add_edge("recall", "recruit")
    builder.add_conditional_edges("recruit", each_expert, {"each expert": "analyse"})
    builder.add_edge("analyse", "synthesise")
    builder.add_conditional_edges("synthesise", each_voter, {"each expert": "vote"})
    builder.add_edge("vote", "count_votes")
    builder.add_conditional_edges(
        "count_votes",
        agreed_or_revise,
        {"objections": "synthesise", "all accept, or votes used up": "decide_by_reports"},
    )
    builder.add_edge("decide_by_reports", "conclude")
    builder.add_edge("conclude", END)
    return builder
