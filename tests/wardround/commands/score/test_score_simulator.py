import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scoring.aie.simulator_set import shipped_files
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.commands.score import score_app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, ["simulator", *map(str, arguments)], env={"COLUMNS": "300"})


@cache
def two_cases() -> list[str]:
    return [line for file in shipped_files() for line in file.read_text("utf-8").splitlines()[:10]]


@pytest.mark.slow
def test_a_models_choices_are_scored_and_a_failure_is_told_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(two_cases()), "utf-8")

    def answer(request: ChatRequest) -> dict[str, Any] | str | None:
        if request.name == "ActionKind":
            return {"kind": "demand"} if "Dr. Hale" in request.text else "no JSON at all"
        return {"text": "Sorry, we are online."} if request.name == "SimulatedReply" else None

    with FakeServer(answer=answer) as server:
        out = tmp_path / "out.json"
        result = run(file, "--models", f"openai:any@{server.base_url}", "--json", out)
    assert result.exit_code == 1, result.output
    assert result.stdout.count("no answer: unparseable_answer") == 10
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    assert metrics["TRACKING"]["n"] == 10
    assert metrics["FOCUS"]["mean"] == 100


def test_one_role_can_have_a_model_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(two_cases()[0], "utf-8")
    with FakeServer(answer=lambda request: {"text": "Good day."}) as server:
        result = run(file, "--models", f"response_generator=openai:any@{server.base_url}")
        assert result.exit_code == 0, result.output
        assert [request.name for request in server.requests] == ["SimulatedReply"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "nobody=offline"], "--models"),
        (["--models", "nowhere:x"], "--models"),
        (["--cases", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (["no-such-file.jsonl"], "no-such-file.jsonl"),
        (["--judged", "medpmc", "--patient", "saps"], "leave out --patient"),
        (["--patient", "nobody"], "--patient"),
    ],
)
def test_what_cannot_be_used_ends_with_code_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.slow
def test_items_without_cases_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(two_cases()[0].replace('"case_id": "dentistry-01"', '"case_id": "nobody-1"'), "utf-8")
    assert "there is no case 'nobody-1'" in run(file).stderr
