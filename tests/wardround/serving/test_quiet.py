"""What the terminal of a server shows of runs that were refused."""

import logging

import pytest

from graphs.state_types import NotStartedError
from wardround.serving.quiet import keep_log_short

REFUSAL = NotStartedError("input: case_id: Input should be a valid string")


@pytest.mark.parametrize(
    ("said", "error", "shown"),
    [
        ("Run encountered an error in graph: {}({})", REFUSAL, []),
        ("Background run failed. Exception: {}({})", REFUSAL, ["event"]),
        ("Background run failed. Exception: {}({})", KeyError("plan"), ["event", "exception", "run_id"]),
    ],
)
def test_a_refused_run_is_logged_once_and_without_a_traceback(
    caplog: pytest.LogCaptureFixture, said: str, error: Exception, shown: list[str]
) -> None:
    worker = logging.getLogger("langgraph_api.worker")
    keep_log_short()
    try:
        worker.error({"event": said.format(type(error), error), "exception": "Traceback ...", "run_id": "1"})
    finally:
        worker.filters.clear()
    assert [sorted(record.msg) for record in caplog.records] == ([shown] if shown else [])
