"""What LangGraph's server logs of a run: a refusal takes one line there, and not a hundred."""

import logging
from collections.abc import Mapping

from graphs.state_types import NotStartedError
from nodes.workflow.case_lookup import UnknownCaseError

_REFUSALS = (str(NotStartedError), str(UnknownCaseError))
_FIRST_OF_TWO = "Run encountered an error in graph"


def keep_log_short() -> None:
    """Have refused runs logged once and without a traceback, and our own types in checkpoints not at all."""
    logging.getLogger("langgraph_api.worker").addFilter(_in_a_line)
    logging.getLogger("langgraph.checkpoint.serde.jsonplus").setLevel(logging.ERROR)


def _in_a_line(record: logging.LogRecord) -> bool:
    """Whether to log a record of structlog's; of a refusal, take the traceback out."""
    entry = record.msg if isinstance(record.msg, Mapping) else {}
    said = str(entry.get("event", ""))
    if not any(refusal in said for refusal in _REFUSALS):
        return True
    record.msg = {name: value for name, value in entry.items() if name in ("event", "level", "timestamp", "logger")}
    return not said.startswith(_FIRST_OF_TWO)
