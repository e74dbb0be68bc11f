"""``--dry-run``: what a run will take, before anybody is asked."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from llm.answering import Usage
from llm.question import Question
from llm.rehearsal import rehearsed
from llm.role import Role
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.recorded_runs import call, graded, write_run
from wardround.cli import app
from wardround.config.experiment import Experiment
from wardround.config.selection import Selection, select
from wardround.run import projection
from wardround.run.runner import run_experiment


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_dry_run_prices_each_role_without_a_request_a_key_or_a_file(tmp_path: Path) -> None:
    note = {"id": "a", "note": "Chief complaint: Cough for 3 weeks.\nDiagnosis: Bronchitis."}
    (tmp_path / "notes.jsonl").write_text(json.dumps(note) + "\n" + json.dumps({**note, "id": "b"}) + "\n", "utf-8")
    with FakeServer() as server:
        asked = ["--models", f"default=openai:m@{server.base_url}", "--models", "dialogue_writer=openai:gpt-4o-mini"]
        told = invoke(
            "reconstruct", tmp_path / "notes.jsonl", "-o", tmp_path / "d.jsonl", "--dry-run", *asked, "--set",
            "whole_dialogue=true",
        )  # fmt: skip
    assert told.exit_code == 0, told.output
    rows = {line.split("│")[1].strip(): line.split("│")[3:7] for line in told.stdout.splitlines() if "│" in line}
    assert [cells[0].strip() for cells in rows.values()] == ["2", "2", "4"]
    assert rows["clinical_expert"][3].strip() == "-" and float(rows["dialogue_writer"][3]) == 0.0  # below a cent
    assert float(rows["all"][3]) == 0.0 and f"The cost is without openai:m@{server.base_url}" in told.stdout
    assert int(rows["dialogue_writer"][1].replace(",", "")) > 1000
    assert not server.requests and [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]
    assert "lower bound" in told.stdout


async def test_the_cases_of_a_rehearsal_are_spread_over_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsed_ids: list[str] = []

    async def seen(trial: Experiment, out: Path, selection: Selection) -> dict[str, Any]:
        rehearsed_ids.extend(item.id for item in selection.items)
        return await run_experiment(trial, out, selection=selection)

    monkeypatch.setattr(projection, "SAMPLE", 3)
    monkeypatch.setattr(projection, "run_experiment", seen)
    experiment = Experiment.model_validate({"data": {"limit": 5}})
    ids = [item.id for item in select(experiment.data).items]
    await projection.project(experiment, tmp_path / "new")
    assert rehearsed_ids == [ids[0], ids[1], ids[3]]


@pytest.mark.slow
def test_where_a_model_answers_as_the_rules_do_a_run_asks_what_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = {"id": "a", "note": "Chief complaint: Cough for 3 weeks.\nHistory: A dry cough, worse at night. No fever."}
    (tmp_path / "notes.jsonl").write_text(json.dumps(note) + "\n", "utf-8")
    answers: dict[str, dict[str, Any]] = {}

    def kept(role: Role[Any], view: Any, question: Question[Any], usage: Usage) -> BaseModel:
        answer = rehearsed(role, view, question, usage)
        answers["".join(str(message.content) for message in question.messages)] = answer.model_dump()
        return answer

    def answer(request: ChatRequest) -> dict[str, Any]:
        return answers["".join(message["content"] for message in request.messages)]

    monkeypatch.setattr(import_module("llm.ask"), "rehearsed", kept)
    with FakeServer(answer=answer) as server:
        asked = ["reconstruct", tmp_path / "notes.jsonl", "-o", tmp_path / "d.jsonl"]
        asked += ["--models", f"openai:fake-model@{server.base_url}"]
        told = invoke(*asked, "--dry-run")
        assert invoke(*asked).exit_code == 0
    rows = {line.split("│")[1].strip(): line.split("│")[3:5] for line in told.stdout.splitlines() if "│" in line}
    roles = {"ClinicalKnowledge": "clinical_expert", "SectionDialogue": "dialogue_writer"}
    for name, role in roles.items():
        calls, read = (int(cell.replace(",", "")) for cell in rows[role])
        sent = [request for request in server.requests if request.name == name]
        size = sum(len(f"{one.text}{json.dumps(one.schema, ensure_ascii=False)}".encode()) for one in sent)
        assert calls == len(sent) and read == pytest.approx(size / 4, rel=0.01), role


def test_projected_from_a_smaller_run_it_takes_what_that_took_a_case_and_tells_the_time(tmp_path: Path) -> None:
    calls = [call(input_tokens=900, output_tokens=100, cost=0.5, attempts=1)]
    small = write_run(tmp_path / "small", [graded("dentistry-05", calls=1, seconds=60.0)], {("dentistry-05", 0): calls})
    told = invoke("run", "--limit", 8, "--concurrency", 2, "--dry-run", "--like", small, "--out", tmp_path / "new")
    assert told.exit_code == 0, told.output
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("│ all")]
    assert [cell.strip() for cell in line.split("│")[3:7]] == ["8", "7,200", "800", "4.00"]
    assert "Time left: 0:04:00" in told.stdout and not (tmp_path / "new").exists()


def test_an_estimate_says_of_how_many_calls_it_knows_no_tokens(tmp_path: Path) -> None:
    calls = [call(input_tokens=900, output_tokens=100, cost=0.5, attempts=1), call("patient", cost=0.0, attempts=1)]
    small = write_run(tmp_path / "small", [graded("dentistry-05", calls=2)], {("dentistry-05", 0): calls})
    told = invoke("run", "--limit", 8, "--dry-run", "--like", small, "--out", tmp_path / "new")
    assert "No token usage was reported for 1 call: tokens and cost are too low." in " ".join(told.stdout.split())


def test_the_runs_of_a_sweep_are_priced_together(tmp_path: Path) -> None:
    calls = [call(input_tokens=900, output_tokens=100, cost=0.5, attempts=1)]
    small = write_run(tmp_path / "small", [graded("dentistry-05", calls=1, seconds=60.0)], {("dentistry-05", 0): calls})
    (tmp_path / "two.toml").write_text("[variants.one]\n[variants.two]\nseed = 1\n", "utf-8")
    told = invoke("run", tmp_path / "two.toml", "--limit", 8, "--dry-run", "--like", small, "--out", tmp_path / "new")
    assert told.exit_code == 0, told.output
    assert "All 2 runs: 16 calls, 14,400 input and 1,600 output tokens, 8.00 US dollars." in told.stdout


def test_the_cost_of_a_sweep_names_the_models_without_a_price(tmp_path: Path) -> None:
    used: dict[str, Any] = {"input_tokens": 900, "output_tokens": 100, "attempts": 1}
    calls = [call(cost=0.5, **used), call("patient", cost=None, role="patient", model="openai:own", **used)]
    small = write_run(tmp_path / "small", [graded("dentistry-05", calls=2, seconds=60.0)], {("dentistry-05", 0): calls})
    (tmp_path / "two.toml").write_text("[variants.one]\n[variants.two]\nseed = 1\n", "utf-8")
    told = invoke("run", tmp_path / "two.toml", "--limit", 8, "--dry-run", "--like", small, "--out", tmp_path / "new")
    assert "8.00 US dollars without openai:own." in " ".join(told.stdout.split())


def test_what_is_done_already_is_not_priced_again(tmp_path: Path) -> None:
    calls = [call(input_tokens=900, output_tokens=100, cost=0.5, attempts=1)]
    begun = write_run(tmp_path / "r", [graded("dentistry-05", calls=1, seconds=9.0)], {("dentistry-05", 0): calls})
    told = invoke("run", "--limit", 3, "--dry-run", "--out", begun)
    assert "Projected use of 2 cases" in told.stdout and "1 of 3 cases are already done" in told.stdout


def test_what_the_run_would_take_up_again_is_priced_and_says_nothing_of_a_whole_case(tmp_path: Path) -> None:
    used = call(input_tokens=900, output_tokens=100, cost=0.5, attempts=1)
    failed = call(attempts=6, error="model_error: away", answer=None, cost=0.0)
    ends = {"dentistry-04": "model_error", "dentistry-05": "completed", "dentistry-06": "unparseable_answer"}
    results = [graded(name, termination=end, calls=1, seconds=60.0) for name, end in ends.items()]
    calls = {(name, 0): [used if end == "completed" else failed] for name, end in ends.items()}
    begun = write_run(tmp_path / "r", results, calls)
    asked = ["run", "--dry-run", "--out", begun, *(f"--case-id={name}" for name in ends)]
    told = invoke(*asked)
    assert "Projected use of 1 case" in told.stdout and "2 of 3 cases are already done" in told.stdout
    assert "Time left: 0:01:00" in told.stdout  # not a fourth of it, for want of three more cases
    assert "Projected use of 2 cases" in invoke(*asked, "--retry-failed").stdout


def test_calls_from_a_cache_are_priced_as_asked_and_other_models_are_named(tmp_path: Path) -> None:
    spec = "openai:gpt-4o"
    used: dict[str, Any] = {"input_tokens": 1_000_000, "output_tokens": 0, "cost": 0.0, "cached": True, "attempts": 0}
    calls = {("dentistry-05", 0): [call(model=spec, **used)]}
    small = write_run(tmp_path / "small", [graded("dentistry-05", calls=1, seconds=60.0)], calls)
    asked = ["run", "--limit", 2, "--dry-run", "--like", small, "--out", tmp_path / "new", "--models"]
    told = " ".join(invoke(*asked, f"default={spec}").stdout.split())
    assert "│ all │ │ 2 │ 2,000,000 │ 0 │ 5.00 │" in told and "1 of the 1 calls there came from its cache" in told
    assert "asked openai:gpt-4o" not in told
    told = " ".join(invoke(*asked, "default=openai:gpt-4.1").stdout.split())
    assert "asked openai:gpt-4o, this run asks openai:gpt-4.1: tokens and cost will differ." in told


def test_a_run_whose_every_result_was_taken_back_is_priced_as_a_new_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [])
    (run / "results.jsonl").touch()
    told = invoke("run", "--dry-run", "--limit", 1, "--out", run)
    assert told.exit_code == 0 and "Projected use of 1 case" in told.stdout, told.output
    assert "No role asks a model." in told.stdout and "lower bound" not in told.stdout, (
        "by rules there is nothing to bound"
    )


def test_a_run_to_project_from_is_refused_where_nothing_is_projected(tmp_path: Path) -> None:
    refused = invoke("run", "--like", tmp_path, "--out", tmp_path / "r")
    assert refused.exit_code == 2 and "--dry-run" in refused.stderr and not (tmp_path / "r").exists()
    assert invoke("run", "--dry-run", "--like", tmp_path).exit_code == 2
