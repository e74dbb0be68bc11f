"""MDAgents: a complexity check, then one doctor, a moderated group, or teams (Kim et al., 2024)."""

from collections.abc import Hashable

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs.recall import recall_first
from graphs.state_graph import StateGraph
from graphs.subgraphs import send
from nodes.context import Context, context_of
from nodes.state.experts import PanelState
from nodes.state.stage import Decided, StageInput
from nodes.strategies.decision_maker import answer_alone, decide_by_reports
from nodes.strategies.domain_expert import analyse
from nodes.strategies.group_member import close_turn, propose, talk
from nodes.strategies.moderator import check_complexity, compare, remark
from nodes.strategies.recruiter import form_group, form_teams
from nodes.strategies.registry import strategy
from nodes.strategies.report_writer import assign, synthesise
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import Stage


def by_complexity(state: PanelState) -> str:
    """Route by the complexity of the case: one doctor, a group, or teams."""
    return state["complexity"]


def each_member(state: PanelState) -> list[Send]:
    """Send to all members in parallel; they see the proposals of the previous round, not of the current one."""
    return [send("propose", state, seat=seat + 1) for seat in range(len(state["members"]))]


def agreed_or_moderate(state: PanelState) -> str:
    """Decide if the group agrees or the rounds are used up; else the moderator remarks on the proposals."""
    return "agreed, or rounds used up" if state["ended"] else "not agreed"


def talk_or_propose(state: PanelState, runtime: Runtime[Context]) -> list[Send]:
    """Let members talk one to one until nobody speaks or the turns are used up; then they propose again."""
    turn, round_ = state["turn"], state["discussion_round"]
    spoken = any((sent.discussion_round, sent.turn) == (round_, turn - 1) for sent in state.get("messages", []))
    if turn < context_of(runtime).talk_turns and (spoken or turn == 0) and len(state["members"]) > 1:
        return [send("talk", state, seat=seat + 1) for seat in range(len(state["members"]))]
    return each_member(state)


def each_of_the_team(state: PanelState) -> list[Send]:
    """Send to every member with a task from the leader, in parallel; in a team of one, to the leader."""
    panel = list(enumerate(state["teams"][state["team"] - 1].experts, start=1))
    return [send("analyse", state, expert=expert, seat=seat) for seat, expert in panel[1:] or panel]


def next_team(state: PanelState) -> str:
    """Run the teams one after another, each in view of the earlier reports."""
    return "another team" if state["team"] < len(state["teams"]) else "all have reported"


@strategy("mdagents")
def build_mdagents(stage: Stage) -> StateGraph[PanelState, Context, StageInput, Decided]:
    """Build the graph of MDAgents for one decision."""
    builder = StateGraph(PanelState, context_schema=Context, input_schema=StageInput, output_schema=Decided)
    builder.add_node(recall.at(stage=stage))
    builder.add_node(check_complexity.at(stage=stage))
    builder.add_node(answer_alone.at(stage=stage))  # low
    builder.add_node(form_group.at(stage=stage))  # moderate
    builder.add_node(propose.at(stage=stage))  # one member; fans out
    builder.add_node(compare.at(stage=stage))
    builder.add_node(remark.at(stage=stage))
    builder.add_node(talk.at(stage=stage))  # one member; fans out
    builder.add_node(close_turn)
    builder.add_node(form_teams.at(stage=stage))  # high
    builder.add_node(assign.at(stage=stage))  # the leader of a team
    builder.add_node(analyse.at(stage=stage))  # one member of a team; fans out
    builder.add_node(synthesise.at(stage=stage))
    builder.add_node(decide_by_reports.at(stage=stage))

    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "check_complexity"})
    builder.add_edge("recall", "check_complexity")
    builder.add_conditional_edges(
        "check_complexity", by_complexity, {"low": "answer_alone", "moderate": "form_group", "high": "form_teams"}
    )
    builder.add_edge("answer_alone", END)

    builder.add_conditional_edges("form_group", each_member, {"each member": "propose"})
    builder.add_edge("propose", "compare")
    builder.add_conditional_edges(
        "compare", agreed_or_moderate, {"not agreed": "remark", "agreed, or rounds used up": "decide_by_reports"}
    )
    turns: dict[Hashable, str] = {"one to one": "talk", "all is said": "propose"}
    builder.add_conditional_edges("remark", talk_or_propose, turns)
    builder.add_edge("talk", "close_turn")
    builder.add_conditional_edges("close_turn", talk_or_propose, turns)

    builder.add_edge("form_teams", "assign")
    builder.add_conditional_edges("assign", each_of_the_team, {"each of the team": "analyse"})
    builder.add_edge("analyse", "synthesise")
    builder.add_conditional_edges(
        "synthesise", next_team, {"another team": "assign", "all have reported": "decide_by_reports"}
    )

    builder.add_edge("decide_by_reports", END)
    return builder
