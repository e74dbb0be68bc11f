"""The first step of whoever decides: similar cases are recalled, if the run has a memory."""

from typing import Literal

from langgraph.runtime import Runtime

from nodes.context import Context, context_of
from nodes.state.chart import Findings


def recall_first(state: Findings, runtime: Runtime[Context]) -> Literal["with retrieval", "without"]:
    """With retrieval off nothing is recalled at all, and nothing described that it would be recalled by."""
    return "with retrieval" if context_of(runtime).retrieval else "without"
