"""MedAgents: experts for the question and for the options, a joint report, up to three votes on it (Tang, 2023)."""

from langgraph.graph import END, START
from langgraph.types import Send

from graphs.recall import recall_first
from graphs.state_graph import StateGraph
from graphs.subgraphs import send
from nodes.context import Context
from nodes.state.experts import PanelState
from nodes.state.stage import Decided, StageInput
from nodes.strategies.decision_maker import decide_by_reports
from nodes.strategies.domain_expert import analyse, vote, weigh_options
from nodes.strategies.recruiter import recruit, recruit_for_options
from nodes.strategies.registry import strategy
from nodes.strategies.report_writer import count_votes, synthesise
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import Stage


def each_expert(state: PanelState) -> list[Send]:
    """Send to all question experts in parallel; they do not see each other's analyses."""
    return [send("analyse", state, expert=expert, seat=seat) for seat, expert in enumerate(state["experts"], start=1)]


def each_weighing_expert(state: PanelState) -> list[Send]:
    """Send to all option experts in parallel, in view of the analyses; their seats follow the question experts'."""
    first = len(state["experts"]) + 1
    weighing = enumerate(state["weighing"], start=first)
    return [send("weigh_options", state, expert=expert, seat=seat) for seat, expert in weighing]


def each_voter(state: PanelState) -> list[Send] | str:
    """Send the report to all experts for a vote, in parallel; do not vote again on a report that was not changed."""
    if state.get("ended"):
        return "nothing revised"
    panel = enumerate([*state["experts"], *state["weighing"]], start=1)
    return [send("vote", state, expert=expert, seat=seat) for seat, expert in panel]


def agreed_or_revise(state: PanelState) -> str:
    """Decide if all accept or the votes are used up; else revise the report by the objections."""
    return "all accept, or votes used up" if state["ended"] else "objections"


@strategy("medagents")
def build_medagents(stage: Stage) -> StateGraph[PanelState, Context, StageInput, Decided]:
    """Build the graph of MedAgents for one decision."""
    builder = StateGraph(PanelState, context_schema=Context, input_schema=StageInput, output_schema=Decided)
    builder.add_node(recall.at(stage=stage))
    builder.add_node(recruit.at(stage=stage))
    builder.add_node(analyse.at(stage=stage))  # one expert; fans out
    builder.add_node(recruit_for_options.at(stage=stage))
    builder.add_node(weigh_options.at(stage=stage))  # one expert; fans out
    builder.add_node(synthesise.at(stage=stage))
    builder.add_node(vote.at(stage=stage))  # one expert; fans out
    builder.add_node(count_votes)
    builder.add_node(decide_by_reports.at(stage=stage))

    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "recruit"})
    builder.add_edge("recall", "recruit")
    builder.add_conditional_edges("recruit", each_expert, {"each expert": "analyse"})
    builder.add_edge("analyse", "recruit_for_options")
    builder.add_conditional_edges("recruit_for_options", each_weighing_expert, {"each expert": "weigh_options"})
    builder.add_edge("weigh_options", "synthesise")
    builder.add_conditional_edges(
        "synthesise", each_voter, {"each expert": "vote", "nothing revised": "decide_by_reports"}
    )
    builder.add_edge("vote", "count_votes")
    builder.add_conditional_edges(
        "count_votes",
        agreed_or_revise,
        {"objections": "synthesise", "all accept, or votes used up": "decide_by_reports"},
    )
    builder.add_edge("decide_by_reports", END)
    return builder
