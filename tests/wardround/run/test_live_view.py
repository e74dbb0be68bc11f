"""What a run shows while it is under way."""

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from llm.events import tell, telling_of, watching
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import ENGLISH, graded, write_run
from tests.support.runs import ended, short, spec
from wardround.run.from_python import run_experiment
from wardround.run.live_view import live_view


def test_a_long_plain_line_stays_one_line_and_control_characters_are_left_out() -> None:
    out = io.StringIO()
    with live_view(Console(file=out, width=40)):
        ended("a\x1b[31m" + "b" * 80, 1, 1)
    assert out.getvalue() == f"1/1 a[31m{'b' * 80} epoch 0: completed\n"


def test_a_case_id_of_any_length_is_printed_at_once() -> None:
    out, began = io.StringIO(), time.process_time()
    with live_view(Console(file=out, width=80)):
        ended("x" * 100_000, 1, 1)
    assert out.getvalue().count("x") == 100_000 and time.process_time() - began < 5


def test_on_a_terminal_there_is_a_bar_and_failures_are_told_with_their_reason() -> None:
    out = io.StringIO()
    with live_view(Console(file=out, force_terminal=True, width=120)):
        ended("a", 1, 2, scores_so_far={"diagnosis": 0.25})
        ended("b", 2, 2, termination="model_error", error="no answer", scored=False)
    assert "b: model_error: no answer" in out.getvalue() and "a: completed" not in out.getvalue()
    assert "1 scored, 1 failed" in out.getvalue() and "2/2" in out.getvalue()


def test_what_failed_before_a_resume_is_not_counted_as_scored() -> None:
    out = io.StringIO()
    with live_view(Console(file=out, force_terminal=True, width=120)):
        tell("run_started", directory="x", done=3, failed=1, total=4)
        ended("d", 4, 4)
    assert "3 scored, 1 failed" in out.getvalue()


def test_a_run_that_is_resumed_tells_how_many_of_its_cases_have_failed(tmp_path: Path) -> None:
    kept = [graded(ENGLISH[0]), graded(ENGLISH[1], termination="unparseable_answer", scores={})]
    asked: dict[str, Any] = {"graph": "one_step", "workflow": {"retrieval": False}, "data": {"case_ids": [*ENGLISH]}}
    path = write_run(tmp_path / "run", kept, **asked)
    told: list[dict[str, Any]] = []
    with watching(told.append):
        run_experiment(asked, path)
    assert [(event["done"], event["failed"]) for event in told if event["event"] == "run_started"] == [(2, 1)]


def test_the_bar_moves_within_a_case_and_names_the_stages_and_calls_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wardround.run.live_view._EVERY", -1.0)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    with live_view(console) as bar:
        assert bar is not None
        tell("run_started", directory="x", done=0, failed=0, total=2)
        seen = []
        for case in ("a", "b"):
            with telling_of(case_id=case, epoch=0):
                tell("case_started")
                for step in ("referral/discuss", "diagnosis/discuss", "diagnosis/decide"):
                    tell("step_started", step=step)
                    tell("call_started", call=step)
                    seen.append(bar.tasks[0].completed)
                bar.refresh()
                if case == "a":
                    ended("a", 1, 2, scores_so_far={"diagnosis": 0.25})
                    seen.append(bar.tasks[0].completed)
    assert seen == sorted(seen) and len(set(seen)) == len(seen) and seen[0] > 0
    assert seen[3] == 1.0 and seen[4] == pytest.approx(1 + 1 / 3), "the case before had three steps"
    assert seen[-1] < 2, "a case that has not ended is not done"
    assert "diagnosis 1 · 3 calls in flight" in out.getvalue() and "so far: diagnosis 0.25" in out.getvalue()


def test_events_as_json_tell_steps_calls_failed_requests_the_throttle_and_scores_but_no_word_of_a_case(
    tmp_path: Path,
) -> None:
    out = io.StringIO()
    with FakeServer(faults=["429", "500"]) as server:
        models = {"default": "offline", "patient": spec(server)}
        experiment = short(models=models, limit=2)
        with live_view(Console(file=out), progress="json"):
            run_experiment(experiment, tmp_path / "run")
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "run_started" and kinds[-1] == "run_ended" and events[-1]["scored"] == 2
    assert {"case_started", "step_started", "step_ended", "call_started", "call_ended", "throttle"} <= set(kinds)
    assert kinds.count("call_started") == kinds.count("call_ended")
    assert [event["reason"] for event in events if event["event"] == "request_failed"] == ["HTTP 429", "HTTP 500"]
    assert {event["step"].split("/")[0] for event in events if event["event"] == "step_started"} >= {"referral"}
    assert all(event["case_id"] for event in events if event["event"].startswith(("case_", "step_", "call_")))
    last = [event for event in events if event["event"] == "case_ended"][-1]
    first = next(event for event in events if event["event"] == "case_ended")
    for name, mean in last["scores_so_far"].items():
        found = [one["scores"][name] for one in (first, last) if one["scores"][name] is not None]
        assert mean == pytest.approx(sum(found) / len(found))
    assert last["done"] == last["total"] == 2
    allowed = {"str", "int", "float", "bool", "NoneType", "dict"}
    assert all(type(value).__name__ in allowed for event in events for value in event.values())
    longest = max(len(value) for event in events for value in event.values() if isinstance(value, str))
    assert longest < 200, "names, numbers and reasons only"


def test_events_go_to_standard_error_in_place_of_lines_and_a_reader_that_goes_away_harms_nothing() -> None:
    out = io.StringIO()
    with live_view(Console(file=out), progress="json"):
        ended("a", 1, 2)
        assert json.loads(out.getvalue())["case_id"] == "a"
        out.close()
        ended("b", 2, 2)
