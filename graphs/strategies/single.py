"""The simplest strategy: one doctor decides in one call."""

from langgraph.graph import END, START

from graphs.recall import recall_first
from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.state.experts import PanelState
from nodes.state.stage import Decided, StageInput
from nodes.strategies.decision_maker import answer_alone
from nodes.strategies.registry import strategy
from nodes.workflow.case_retrieval import recall
from nodes.workflow.stages import Stage


@strategy("single")
def build_single(stage: Stage) -> StateGraph[PanelState, Context, StageInput, Decided]:
    """Build the graph of one doctor's decision."""
    builder = StateGraph(PanelState, context_schema=Context, input_schema=StageInput, output_schema=Decided)
    builder.add_node(recall.at(stage=stage))
    builder.add_node(answer_alone.at(stage=stage))

    builder.add_conditional_edges(START, recall_first, {"with retrieval": "recall", "without": "answer_alone"})
    builder.add_edge("recall", "answer_alone")
    builder.add_edge("answer_alone", END)
    return builder
