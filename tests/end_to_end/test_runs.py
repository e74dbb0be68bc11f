"""Whole runs of the command in processes of their own: faults of the server, kill -9, Ctrl-C, two at once."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from tests.support.fake_server import FakeServer, Fault, FaultPlan, _usage
from tests.support.processes import stopped_when, to_its_end
from tests.support.runs import IDS, SHORT, again, answered, asked, calls, outcomes, results, run, short, spec
from wardround.config.selection import select
from wardround.store.run_directory import RunDirectory

pytestmark = pytest.mark.slow


def command(server: FakeServer | None, out: Path, ids: list[str], *more: object) -> list[str]:
    settings = [f"--set={key}={str(value).lower()}" for key, value in SHORT.items()]
    models = [f"--models=default={spec(server)}"] if server else []
    wanted = [f"--case-id={case_id}" for case_id in ids]
    return ["run", *settings, *models, *wanted, f"--out={out}", *map(str, more)]


def lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_under_mixed_faults_every_case_ends_scored_or_failed_with_its_reason(tmp_path: Path) -> None:
    shares: dict[Fault, float] = {
        "429": 0.10,
        "500": 0.05,
        "timeout": 0.03,
        "cut_json": 0.08,
        "schema_violation": 0.08,
        "empty_choice": 0.04,
    }
    with FakeServer(faults=FaultPlan(11, shares), retry_after=0.1, hold=30) as server:
        limits = (
            "--set",
            "timeout=1.5",
            "--set",
            "max_attempts=4",
            "--set",
            "repairs=1",
            "--set",
            "on_unreadable=fail_case",
        )
        arguments = command(server, tmp_path, IDS, "--concurrency", 8, *limits)
        ended = to_its_end(arguments)
        requests = list(server.requests)
    kept = results(tmp_path)
    assert [result.case_id for result in kept] == IDS
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert summary["attempted"] == summary["scored"] + summary["failed"] == 12
    assert summary["scored"] > 0 and summary["failed"] > 0, "the shares are such that some fail and some do not"
    assert ended.returncode == 1
    for result in kept:
        if result.scored:
            assert result.error is None
            assert {stage for stage, score in result.scores.items() if score is None} == set(result.unscored)
        else:
            assert result.termination in ("unparseable_answer", "model_error") and result.error and not result.scores
    assert {request.fault for request in requests} == {*shares, None}
    assert lines_of(tmp_path / "results.jsonl") == 12 and "Traceback" not in ended.stderr

    last: dict[str, float] = {}
    for request in requests:
        if request.digest in last:
            assert request.time_in - last.pop(request.digest) >= 0.095, "asked again before Retry-After"
        if request.fault == "429" and request.time_out:
            last[request.digest] = request.time_out


def test_faults_that_a_second_request_mends_fail_no_case_and_change_no_result(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    kinds: list[Fault] = ["429", "500", "empty_choice", "disconnect"]

    def first_time(request: object) -> Fault | None:
        digest = request.digest  # type: ignore[attr-defined]
        seen[digest] += 1
        return kinds[int(digest[:4], 16) % len(kinds)] if seen[digest] == 1 else None

    with FakeServer() as server:
        run(short(server, limit=4), tmp_path / "calm")
        server.faults = first_time
        ended = to_its_end(command(server, tmp_path / "stormy", IDS[:4], "--concurrency", 8))
    assert ended.returncode == 0
    calm, stormy = outcomes(tmp_path / "calm"), outcomes(tmp_path / "stormy")
    used = [sum(outcome.pop("tokens") for outcome in run) for run in (calm, stormy)]
    wasted = [request for request in server.requests if request.fault == "empty_choice"]
    assert stormy == calm
    assert used[1] - used[0] == sum(_usage(request, [])["total_tokens"] for request in wasted) > 0, "they were paid"


@pytest.mark.parametrize("requests", [4, 25, 50])
def test_a_killed_run_goes_on_to_the_same_results_and_pays_nothing_twice(tmp_path: Path, requests: int) -> None:
    with FakeServer() as server:
        run(short(server, limit=4), tmp_path / "whole")
        whole, total = asked(server), len(server.requests)
        server.requests = []
        arguments = command(server, tmp_path / "killed", IDS[:4], "--concurrency", 2)
        server.hold_answers(requests)
        code, _ = stopped_when(arguments, server.is_holding, signal.SIGKILL)
        assert code == -signal.SIGKILL and len(server.requests) < total
        server.release()
        before, paid, server.requests = answered(tmp_path / "killed"), asked(server), []
        ended = to_its_end(arguments)
        after = asked(server)
    assert ended.returncode == 0, ended.stderr
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")
    assert lines_of(tmp_path / "killed" / "results.jsonl") == 4
    assert (paid + after).keys() == whole.keys(), "the prompts are those of the uninterrupted run"
    assert not again(whole, before, after)


def test_a_run_that_was_killed_twice_and_cut_in_its_files_goes_on_to_the_same_results(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(short(server, limit=4), tmp_path / "whole")
        server.requests = []
        arguments = command(server, tmp_path / "killed", IDS[:4], "--concurrency", 4)
        for _ in range(2):
            server.hold_answers(20)
            stopped_when(arguments, server.is_holding, signal.SIGKILL)
            server.release()
            for file in (tmp_path / "killed").glob("*/*.jsonl"):
                with file.open("ab") as out:
                    out.write('{"id": "热'.encode()[:-1])
        with (tmp_path / "killed" / "results.jsonl").open("ab") as out:
            out.write(b'{"case_id": "cu')
        assert to_its_end(arguments).returncode == 0
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")


def test_a_killed_run_remembers_its_pseudo_cases(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases() if case.id.startswith("ophthalmology-")][:4]
    growing: dict[str, Any] = {"retrieval": True, "neighbours": 10, "grow": "in_order"}
    settings = [f"--set={key}={str(value).lower()}" for key, value in growing.items()]
    with FakeServer() as server:  # one role is played by it, so that a case can be held up
        models = {"default": "offline", "patient": spec(server)}
        run(short(case_ids=ids, models=models, **growing), tmp_path / "whole")
        told = [str(call["messages"]) for call in calls(tmp_path / "whole", ids[3])]
        assert any("Not verified" in text or "未经核实" in text for text in told), "no pseudo-case was recalled"
        by_case = [sum(bool(call["attempts"]) for call in calls(tmp_path / "whole", case_id)) for case_id in ids]

        arguments = command(None, tmp_path / "killed", ids, *settings, f"--models=patient={spec(server)}")
        server.hold_answers(sum(by_case[:2]))
        stopped_when(arguments, server.is_holding, signal.SIGKILL)
        server.release()
        assert lines_of(tmp_path / "killed" / "results.jsonl") == 2
        ended = to_its_end(arguments)
    assert ended.returncode == 0, ended.stderr
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")
    for case_id in ids:
        prompts = [
            {call["id"]: call["messages"] for call in calls(tmp_path / name, case_id)} for name in ("whole", "killed")
        ]
        assert prompts[0] == prompts[1], case_id


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_goes_on(tmp_path: Path, sign: signal.Signals) -> None:
    with FakeServer() as server:
        run(short(server), tmp_path / "whole")
        whole, server.requests = asked(server), []
        arguments = command(server, tmp_path / "stopped", IDS[:3])
        server.hold_answers(15)
        code, said = stopped_when(arguments, server.is_holding, sign)
        server.release()
        before, server.requests = answered(tmp_path / "stopped"), []
        assert code == 130
        assert said.strip().splitlines()[-1] == "interrupted; run the same command again to resume"
        assert "Traceback" not in said
        assert to_its_end(arguments).returncode == 0
        assert not again(whole, before, asked(server))
    assert outcomes(tmp_path / "stopped") == outcomes(tmp_path / "whole")


def test_a_second_process_in_the_same_place_is_refused_and_the_first_is_not_disturbed(tmp_path: Path) -> None:
    experiment = short(limit=1)
    with RunDirectory(tmp_path).opened(experiment, select(experiment.data).items):
        refused = to_its_end(command(None, tmp_path, IDS[:1]))
        assert refused.returncode == 2 and "another process is using this directory" in refused.stderr
        assert not (tmp_path / "results.jsonl").exists()
    assert to_its_end(command(None, tmp_path, IDS[:1])).returncode == 0
