"""MDAgents: a check of the complexity, then one doctor, a moderated group, or teams (Kim et al., 2024)."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from graphs.seats import send
from graphs.strategies.recall import recall_first
from nodes.context import Context
from nodes.state.experts import PanelState
from nodes.state.stage import StageInput
from nodes.strategies.decision_maker import decide_by_reports
from nodes.strategies.domain_expert import analyse, propose
from nodes.strategies.moderator import check_complexity, compare, remark
from nodes.strategies.recruiter import form_teams, recruit
from nodes.strategies.registry import strategy
from nodes.strategies.report_writer import gather, synthesise
from nodes.strategies.solo_doctor import answer_alone
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stage_control import conclude
from nodes.workflow.stages import Stage


def by_complexity(state: PanelState) -> str:
    """How many people the case needs."""
    return state["complexity"]


def each_expert(state: PanelState) -> list[Send]:
    """All experts of the group speak at once; they see each other's last proposals, not the present ones."""
    return [send("propose", state, expert=expert, seat=seat) for seat, expert in enumerate(state["experts"], start=1)]


def agreed_or_moderate(state: PanelState) -> str:
    """Two ends, agreed and rounds used up; else the moderator's remarks go back to the group."""
    return "agreed, or rounds used up" if state["ended"] else "not agreed"


def each_member(state: PanelState) -> list[Send]:
    """All members of all teams analyse at once."""
    return [
        send("analyse", state, team=team, expert=expert, seat=seat)
        for team, each in enumerate(state["teams"], start=1)
        for seat, expert in enumerate(each.experts, start=1)
    ]


def each_team(state: PanelState) -> list[Send]:
    """All teams write their reports at once."""
    return [send("synthesise", state, team=team) for team, _ in enumerate(state["teams"], start=1)]


@strategy("mdagents")
def build_mdagents(stage: Stage) -> StateGraph[PanelState, Context, StageInput, Any]:
    """The graph of MDAgents for one decision."""
    builder = StateGraph(PanelState, context_schema=Context, input_schema=StageInput, output_schema=stage.output)
    builder.add_node(recall.at(stage=stage))
    builder.add_node(check_complexity.at(stage=stage))
    builder.add_node(answer_alone.at(stage=stage))  # low
    builder.add_node(recruit.at(stage=stage))  # moderate
    builder.add_node(propose.at(stage=stage))  # one expert; fans out
    builder.add_node(compare.at(stage=stage))
    builder.add_node(remark.at(stage=stage))
    builder.add_node(form_teams.at(stage=stage))  # high
    builder.add_node(analyse.at(stage=stage))  # one member of a team; fans out
    builder.add_node(gather)
    builder.add_node(synthesise.at(stage=stage))  # one team; fans out
    builder.add_node(decide_by_reports.at(stage=stage))
    builder.add_node(conclude.at(stage=stage, strategy="mdagents"))

    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "check_complexity"})
    builder.add_edge("recall", "check_complexity")
    builder.add_conditional_edges(
        "check_complexity", by_complexity, {"low": "answer_alone", "moderate": "recruit", "high": "form_teams"}
    )
    builder.add_edge("answer_alone", "conclude")

    builder.add_conditional_edges("recruit", each_expert, {"each expert": "propose"})
    builder.add_edge("propose", "compare")
    builder.add_conditional_edges(
        "compare", agreed_or_moderate, {"not agreed": "remark", "agreed, or rounds used up": "decide_by_reports"}
    )
    builder.add_conditional_edges("remark", each_expert, {"each expert": "propose"})

    builder.add_conditional_edges("form_teams", each_member, {"each member": "analyse"})
    builder.add_edge("analyse", "gather")
    builder.add_conditional_edges("gather", each_team, {"each team": "synthesise"})
    builder.add_edge("synthesise", "decide_by_reports")

    builder.add_edge("decide_by_reports", "conclude")
    builder.add_edge("conclude", END)
    return builder
