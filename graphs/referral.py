"""Referral: urgency and first-level department, then the second-level departments (MedChain, A.2.1)."""

from langgraph.graph import END, START

from graphs.decision import decision_by
from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.state.chart import Findings
from nodes.state.graph_states import DecidingState, ReferralOutput
from nodes.workflow.stages import LEVEL1, LEVEL2


def build_referral(strategy: str = "group") -> StateGraph[DecidingState, Context, Findings, ReferralOutput]:
    """Build the referral, with both levels decided by one strategy."""
    builder = StateGraph(DecidingState, context_schema=Context, input_schema=Findings, output_schema=ReferralOutput)
    builder.add_node("level1", decision_by(strategy, LEVEL1))
    builder.add_node("level2", decision_by(strategy, LEVEL2))

    builder.add_edge(START, "level1")
    builder.add_edge("level1", "level2")
    builder.add_edge("level2", END)
    return builder


builder = build_referral()
graph = builder.compile(name="Referral")
