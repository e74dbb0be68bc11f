"""What LangGraph's server logs: what a caller or a model did wrong takes one line there, and not a hundred."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping

from langgraph.errors import GraphRecursionError

from cases.sexes import SexBoundError
from cases.validation import InputError
from graphs.state_types import NotStartedError
from llm.errors import AskError
from nodes.workflow.case_lookup import UnknownCaseError
from scoring.clini_eval.demonstration import NothingToScoreError

# Their messages say it all, unlike those of faults in the code.
_SAID = (
    NotStartedError,
    UnknownCaseError,
    NothingToScoreError,
    SexBoundError,
    InputError,
    AskError,
    GraphRecursionError,
)
_FIRST_OF_TWO = "Run encountered an error in graph"
_OF_A_RUN = re.compile(rf"(?:{_FIRST_OF_TWO}:|Background run failed\. Exception:) (<class '.+?'>)")
_OF_AN_EDIT = "Bad Request Error"
# Of LangGraph's server to itself: at a run without a thread, and at a traceback.
_TO_ITSELF = ("`durability` has no effect", "Remove `format_exc_info`")


def keep_log_short() -> None:
    """Have refused and unanswered runs logged once, without a traceback, and our types in checkpoints not at all."""
    logging.getLogger("langgraph_api.worker").addFilter(_in_a_line)
    logging.getLogger("langgraph_api.errors").addFilter(_edit_in_a_line)
    logging.getLogger("langgraph.checkpoint.serde.jsonplus").setLevel(logging.ERROR)
    for warning in _TO_ITSELF:
        warnings.filterwarnings("ignore", message=warning)


def _in_a_line(record: logging.LogRecord) -> bool:
    """Whether to log a record of structlog's; of a refusal, take the traceback out."""
    entry = record.msg if isinstance(record.msg, Mapping) else {}
    said = str(entry.get("event", ""))
    failed = _OF_A_RUN.match(said)
    if failed is None or failed[1] not in {str(kind) for kind in _with_subclasses(_SAID)}:
        return True
    record.msg = _shortened(entry, said)
    return not said.startswith(_FIRST_OF_TWO)


def _edit_in_a_line(record: logging.LogRecord) -> bool:
    """Log a refused edit of a state by its message, which ends the traceback."""
    entry = record.msg if isinstance(record.msg, Mapping) else {}
    _, found, message = str(entry.get("exception", "")).rpartition(f"{NotStartedError.__module__}.NotStartedError: ")
    if found and entry.get("event") == _OF_AN_EDIT:
        record.msg = _shortened(entry, f"{_OF_AN_EDIT}: {message}")
    return True


def _shortened(entry: Mapping[str, object], event: str) -> dict[str, object]:
    return {
        **{name: value for name, value in entry.items() if name in ("level", "timestamp", "logger")},
        "event": event,
    }


def _with_subclasses(kinds: tuple[type, ...] | list[type]) -> Iterator[type]:
    for kind in kinds:
        yield kind
        yield from _with_subclasses(kind.__subclasses__())
