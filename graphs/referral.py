"""Referral: urgency and first-level department, then the second-level departments (MedChain, A.2.1)."""

from langgraph.graph import END, START, StateGraph

from graphs.stage import build_stage
from llm.tracing import UNTRACED
from nodes.context import Context
from nodes.state.chart import Findings
from nodes.state.graph_states import ReferralOutput, ReferralState
from nodes.workflow.stages import LEVEL1, LEVEL2

builder = StateGraph(ReferralState, context_schema=Context, input_schema=Findings, output_schema=ReferralOutput)
builder.add_node("level1", build_stage(LEVEL1).compile(name="Referral, level 1"))
builder.add_node("level2", build_stage(LEVEL2).compile(name="Referral, level 2"))

builder.add_edge(START, "level1")
builder.add_edge("level1", "level2")
builder.add_edge("level2", END)

graph = builder.compile(name="Referral").with_config(callbacks=UNTRACED)
