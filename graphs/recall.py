"""The first step before a decision: recall similar cases if retrieval is on."""

from typing import Literal

from langgraph.runtime import Runtime

from nodes.context import Context, context_of
from nodes.state.chart import Findings


def recall_first(state: Findings, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """Recall similar cases, and describe the symptoms to search by, only if retrieval is on."""
    return "with retrieval" if context_of(runtime).retrieval else "without"
