"""A user's keys: sent to whom they are meant for, and written nowhere, also where a server quotes them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.fake_server import ChatRequest, FakeServer, Fault
from tests.support.processes import to_its_end
from tests.support.runs import CASES, IDS, results, spec

OWN = {
    "WARDROUND_API_KEY": "wardcanary-5b1f07c2e9",
    "OPENAI_API_KEY": "sk-openaicanary-8d33a1",
    "FIRST_KEY": "firstcanary-77aa01",
    "SECOND_TOKEN": "secondcanary-c0ffee",
}
SETTINGS = ["retrieval=false", "general_agents=1", "discussion_rounds=1", "feedback=same_stage", "max_turns=2"]


def wardround(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return to_its_end(arguments, {**os.environ, **OWN})


def run(server: FakeServer, out: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    cases = [part for case_id in IDS[:2] for part in ("--case-id", case_id)]
    switches = [part for setting in SETTINGS for part in ("--set", setting)]
    return wardround("run", *cases, *switches, "--models", f"default={spec(server)}", "--out", str(out), *more)


def holding(out: Path) -> list[str]:
    """The files under a directory in which a key stands, in any encoding that holds it as it is."""
    files = [file for file in out.rglob("*") if file.is_file()]
    assert files
    return [file.name for file in files if any(key.encode() in file.read_bytes() for key in OWN.values())]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["401", "500"])
def test_a_key_that_the_server_quotes_in_its_refusals_is_in_no_file_and_in_no_output(
    tmp_path: Path, fault: Fault
) -> None:
    def quoting(request: ChatRequest) -> Fault | None:
        return "401" if fault == "401" and CASES[1].patient.chief_complaint in request.text else None

    def failing(request: ChatRequest) -> None:
        if fault == "500" and CASES[1].patient.chief_complaint in request.text:
            raise PermissionError(f"not with {request.headers['authorization']}")

    with FakeServer(answer=failing, faults=quoting) as server:
        told = [run(server, tmp_path / "out", "--set", "max_attempts=1"), wardround("report", str(tmp_path / "out"))]
        sent = [f"{request.headers}{request.body}" for request in server.requests]
    assert [each.returncode for each in told] == [1, 0], told[1].stderr
    if fault == "401":
        error = told[0].stderr
        assert "the API key is not accepted" in error and "to resume" in error
    else:
        assert {result.termination for result in results(tmp_path / "out")} == {"completed", "model_error"}
        (error,) = [result.error for result in results(tmp_path / "out") if result.error]
    assert "<WARDROUND_API_KEY>" in error, "the server did quote it"
    written = {file.name for file in (tmp_path / "out").rglob("*")}
    finished = {"results.jsonl"} if fault == "500" else set()  # the run stopped before a case was
    assert written >= {"manifest.json", "summary.json", "checkpoints.sqlite", "report.html", *finished}
    assert holding(tmp_path) == []
    assert not any(key in each.stdout + each.stderr for each in told for key in OWN.values())
    assert all(OWN["WARDROUND_API_KEY"] in text and OWN["OPENAI_API_KEY"] not in text for text in sent)


BLOCKS = """
models = {{default = "first", general = "second"}}
[model.first]
spec = "openai:fake-model"
base_url = "{first}"
api_key_env = "FIRST_KEY"
[model.second]
spec = "openai:fake-model@{second}"
api_key_env = ""
headers = {{X-Gateway-Key = "$SECOND_TOKEN"}}
temperature = "default"
"""


@pytest.mark.slow
def test_two_servers_of_a_run_are_each_sent_their_own_key_and_no_file_has_one(tmp_path: Path) -> None:
    with FakeServer() as first, FakeServer() as second:
        file = tmp_path / "blocks.toml"
        file.write_text(BLOCKS.format(first=first.base_url, second=second.base_url), "utf-8")
        switches = [part for setting in SETTINGS for part in ("--set", setting)]
        told = wardround("run", str(file), "--limit", "1", *switches, "--out", str(tmp_path / "out"))
        sent = [[f"{request.headers}{request.body}" for request in server.requests] for server in (first, second)]
    assert told.returncode == 0, told.stderr
    assert sent[0] and all(OWN["FIRST_KEY"] in text and text.count("canary") == 1 for text in sent[0])
    assert sent[1] and all(OWN["SECOND_TOKEN"] in text and text.count("canary") == 1 for text in sent[1])
    assert all("temperature" in text for text in sent[0]) and not any("'temperature'" in text for text in sent[1])
    assert holding(tmp_path) == [] and "canary" not in told.stdout + told.stderr


def test_that_search_finds_a_key_in_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "checkpoints.sqlite").write_bytes(b"\x00\xff" + OWN["OPENAI_API_KEY"].encode() + b"\x00")
    assert holding(tmp_path) == ["checkpoints.sqlite"]
