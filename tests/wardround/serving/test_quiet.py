"""What the terminal of a server shows of runs that were refused, or that no model answered."""

import logging
import traceback
import warnings
from typing import Any

import pytest

from cases.validation import InputError
from graphs.state_types import NotStartedError
from llm.errors import RefusedError
from wardround.serving.quiet import keep_log_short

REFUSAL = NotStartedError("input: case_id: Input should be a valid string")


@pytest.mark.parametrize(
    ("said", "error", "shown"),
    [
        ("Run encountered an error in graph: {}({})", REFUSAL, []),
        ("Background run failed. Exception: {}({})", REFUSAL, ["event"]),
        ("Run encountered an error in graph: {}({})", RefusedError("no such model"), []),
        ("Background run failed. Exception: {}({})", RefusedError("no such model"), ["event"]),
        ("Background run failed. Exception: {}({})", InputError("words: too many"), ["event"]),
        ("Background run failed. Exception: {}({})", KeyError("plan"), ["event", "exception", "run_id"]),
        ("Background run failed. Exception: {}({})", KeyError(f"{InputError}"), ["event", "exception", "run_id"]),
    ],
)
def test_a_refused_or_unanswered_run_is_logged_once_and_without_a_traceback(
    caplog: pytest.LogCaptureFixture, said: str, error: Exception, shown: list[str]
) -> None:
    worker = logging.getLogger("langgraph_api.worker")
    keep_log_short()
    try:
        worker.error({"event": said.format(type(error), error), "exception": "Traceback ...", "run_id": "1"})
    finally:
        worker.filters.clear()
    assert [sorted(record.msg) for record in caplog.records] == ([shown] if shown else [])


@pytest.mark.parametrize(("error", "shown"), [(REFUSAL, ["event"]), (ValueError("plan"), ["event", "exception"])])
def test_a_refused_edit_of_a_state_is_logged_by_its_message(
    caplog: pytest.LogCaptureFixture, error: Exception, shown: list[str]
) -> None:
    errors = logging.getLogger("langgraph_api.errors")
    keep_log_short()
    try:
        text = "".join(traceback.format_exception(error)).rstrip("\n")
        errors.error({"event": "Bad Request Error", "exception": text})
    finally:
        errors.filters.clear()
    (record,) = caplog.records
    entry: Any = record.msg
    assert sorted(entry) == shown
    assert entry["event"].endswith(str(error)) is (error is REFUSAL)


def test_what_the_server_warns_itself_of_is_not_shown() -> None:
    with warnings.catch_warnings(record=True) as shown:
        keep_log_short()
        warnings.warn("`durability` has no effect when no checkpointer is present.", stacklevel=1)
        warnings.warn("something of the user's", stacklevel=1)
    logging.getLogger("langgraph_api.worker").filters.clear()
    logging.getLogger("langgraph_api.errors").filters.clear()
    assert [str(one.message) for one in shown] == ["something of the user's"]
