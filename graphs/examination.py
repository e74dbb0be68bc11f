"""The examination stage: one report per image class among the ordered examinations (MedChain, A.2.3)."""

from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from cases.vocabulary import IMAGE_CLASSES
from graphs.decision import decision_by
from graphs.state_graph import StateGraph
from nodes.context import Context
from nodes.state.chart import Findings
from nodes.state.graph_states import DecidingState
from nodes.workflow.stages import EXAMINATION, read_chart


def each_image_class(state: Findings, runtime: Runtime[Context]) -> list[Send] | Literal["nothing to report"]:
    """Send every image class on the chart to a report of its own; on a second visit only the new ones."""
    chart = read_chart(state, EXAMINATION.name, None)
    on_chart = {*chart.results, *(picture.item for picture in chart.pictures)} - state.get("reports", {}).keys()
    view: dict[str, Any] = dict(state)
    return [
        Send("report", {**view, "image_class": image_class}) for image_class in IMAGE_CLASSES if image_class in on_chart
    ] or "nothing to report"


def build_examination(strategy: str = "group") -> StateGraph[DecidingState, Context, Findings, Any]:
    """Build the examination, with every report decided by one strategy."""
    builder = StateGraph(DecidingState, context_schema=Context, input_schema=Findings, output_schema=EXAMINATION.output)
    builder.add_node("report", decision_by(strategy, EXAMINATION))

    builder.add_conditional_edges(START, each_image_class, {"each image class": "report", "nothing to report": END})
    builder.add_edge("report", END)
    return builder


builder = build_examination()
graph = builder.compile(name="Examination")
