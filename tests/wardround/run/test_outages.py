"""A run stops early where no case can fare better, and waits where all will be well again; neither costs a case."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from retrieval import CaseMemoryError
from tests.support.fake_server import ChatRequest, FakeServer, Fault
from tests.support.runs import CASES, outcomes, results, run, short, spec
from wardround.config.experiment import Experiment
from wardround.run.outages import outlasting
from wardround.store.durable_lines import RunStoppedError


def with_run(experiment: Experiment, **run: Any) -> Experiment:
    return experiment.model_copy(update={"run": experiment.run.model_copy(update=run)})


@pytest.fixture(autouse=True)
def _looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("llm.throttle", "wardround.run.outages"):
        monkeypatch.setattr(f"{place}._FIRST_PAUSE", 0.02)
        monkeypatch.setattr(f"{place}._LONGEST_PAUSE", 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "after"), [("no_quota", 0), ("401", 25)])
def test_a_server_that_takes_no_question_stops_the_run_at_once_and_nothing_is_lost(
    fault: Fault, after: int, tmp_path: Path
) -> None:
    def refusing(request: ChatRequest) -> Fault | None:
        return fault if request.index >= after else None

    with FakeServer() as server:
        experiment = short(server)
        run(experiment, tmp_path / "whole")
        whole = len(server.requests)
    with FakeServer(faults=refusing, port=server.port) as server:
        with pytest.raises(RunStoppedError, match=r"refuses all questions: .*run the same command again to resume"):
            run(experiment, tmp_path / "stopped")
        paid = len(server.requests)
        assert paid <= after + 12, "every case under way was refused at most once by each of its seats"
        summary = json.loads((tmp_path / "stopped" / "summary.json").read_text("utf-8"))
        assert summary["failed"] == 0 and summary["attempted"] + summary["not_attempted"] == 3
        server.faults = ()
        assert run(experiment, tmp_path / "stopped")["failed"] == 0
        assert len(server.requests) - paid <= whole - after + 4, "what was answered is not asked again"
    answered = [{**one, "calls": 0, "tokens": 0} for one in outcomes(tmp_path / "stopped")]
    assert answered == [{**one, "calls": 0, "tokens": 0} for one in outcomes(tmp_path / "whole")]


def test_a_judge_whose_server_takes_no_question_stops_the_run_too_and_its_case_is_only_scored_again(
    tmp_path: Path,
) -> None:
    with FakeServer() as doctors, FakeServer(faults=lambda request: "403") as judge:
        models = {
            "default": f"openai:fake-model@{doctors.base_url}",
            "diagnosis_judge": f"openai:fake-model@{judge.base_url}",
        }
        experiment = short(doctors, limit=1, models=models)
        with pytest.raises(RunStoppedError, match="access is denied"):
            run(experiment, tmp_path)
        asked, judge.faults = len(doctors.requests), ()
        assert run(experiment, tmp_path)["scored"] == 1 and len(doctors.requests) == asked


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "least"), [("default", 20), ("diagnosis_judge", 1)])
def test_a_server_that_dies_in_the_middle_of_a_run_or_of_scoring_costs_no_case(
    asked: str, least: int, tmp_path: Path
) -> None:
    server = FakeServer(latency=0.01)
    server.start()
    models = {"default": "offline", asked: spec(server)}
    experiment = short(models=models, max_attempts=3, timeout=1, concurrency=1 if asked != "default" else 4)

    def die_and_come_back() -> None:
        while len(server.requests) < least:
            time.sleep(0.005)
        server.stop()
        time.sleep(1.0)
        again.start()

    again = FakeServer(port=server.port)
    dying = threading.Thread(target=die_and_come_back)
    dying.start()
    try:
        summary = run(experiment, tmp_path)
    finally:
        dying.join()
        again.stop()
    assert (summary["attempted"], summary["failed"]) == (3, 0) and again.requests, summary["failures"]


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("the connection is closed"),
        psycopg.errors.AdminShutdown(),
        CaseMemoryError("cannot be read"),
    ],
)
async def test_work_is_taken_up_again_when_the_database_is_back(error: Exception) -> None:
    if isinstance(error, CaseMemoryError):
        error.__cause__ = httpx.ConnectError("refused")
    tries = []

    async def work() -> str:
        tries.append(1)
        if len(tries) < 4:
            raise error
        return "done"

    assert await outlasting(work) == "done" and len(tries) == 4
    tries.clear()
    with pytest.raises(type(error)):
        await asyncio.wait_for(outlasting(work, longest=0.01), 5)


@pytest.mark.parametrize("error", [psycopg.errors.DiskFull(), CaseMemoryError("is damaged"), ValueError("no")])
async def test_an_error_that_is_no_absence_is_raised_at_once(error: Exception) -> None:
    tries = []

    async def work() -> None:
        tries.append(1)
        raise error

    with pytest.raises(type(error)):
        await outlasting(work)
    assert len(tries) == 1


@pytest.mark.slow
def test_a_run_in_which_no_case_is_to_fail_stops_at_the_first_that_does(tmp_path: Path) -> None:
    def faulty(request: ChatRequest) -> Fault | None:
        return "cut_json" if CASES[0].patient.chief_complaint in request.text else None

    with FakeServer(faults=faulty) as server:
        experiment = short(server, concurrency=1)
        with pytest.raises(
            RunStoppedError, match=rf"{CASES[0].id} failed \(unparseable_answer: .*fail_on_error is set"
        ):
            run(with_run(experiment, fail_on_error=True), tmp_path)
        assert [result.case_id for result in results(tmp_path)] == [CASES[0].id]
        summary = run(experiment, tmp_path)
        assert (summary["scored"], summary["failed"]) == (2, 1), "an unreadable answer is final"
        (failure,) = summary["failures"]
        assert (failure["termination"], failure["cases"]) == ("unparseable_answer", 1)
        assert failure["reason"].endswith(f"with {experiment.models['default']}") and "During task" not in str(summary)
        server.faults = ()
        assert run(with_run(experiment, retry_failed=True), tmp_path)["failed"] == 0
        assert [result.termination for result in results(tmp_path)] == ["completed"] * 3
