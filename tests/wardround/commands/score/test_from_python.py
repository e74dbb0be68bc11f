"""``wr.score_transcripts``: the commands of ``wardround score`` from Python."""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import wardround as wr
from llm.limits import Spent
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, medpmc_data, turn
from tests.support.commands import wardround
from tests.support.fake_server import FakeServer
from wardround.analysis.notes import used_notes
from wardround.commands.score import scoring_functions
from wardround.config.experiment import ConfigurationError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "doctor.json"
    path.write_text(json.dumps(ENGLISH), "utf-8")
    return path


@pytest.mark.parametrize("mode", ["sound", "paper"])
def test_the_numbers_are_those_that_the_command_writes(mode: str, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(CHINESE), "utf-8")
    found = wr.score_transcripts("aie", file, str(other), mode=mode, leave_out=["1"])
    written = tmp_path / "scores.json"
    wardround("score", "aie", file, other, "--mode", mode, "--leave-out", "1", "--json", written)
    assert found.pop("notes") is not None and found == json.loads(written.read_text("utf-8"))
    assert wr.score_transcripts("aie", file, mode=mode, settings=None)["n"]
    assert found["metrics"]["AVG_TURN"]["n"] and list(found["files"]) == ["doctor", "other"]


def test_a_judge_is_asked_also_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps([medpmc_data(turn("B-A", "Any pain?", "Yes, pain."), turn("D", "Bye."), id=1)]), "utf-8")

    async def inside() -> dict[str, Any]:
        return wr.score_transcripts("medpmc", file, judge=["offline"], settings=["timeout=5"])

    found = asyncio.run(inside())
    assert found == wr.score_transcripts("medpmc", file, judge=["offline"], settings={"timeout": 5})
    assert any(name.startswith("Judge: ") for name in found["metrics"])
    assert found["settings"] == {"timeout": 5} and any("--judge" in note for note in found["notes"])


@pytest.mark.skipif(os.name == "nt", reason="this system sends no SIGINT to a process")
def test_who_interrupts_scoring_in_a_notebook_has_no_more_models_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judges went on in another thread, for which the notebook waited."""
    ended, went_on = threading.Event(), []

    async def slow(*_: Any) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()  # once the caller waits
        try:
            await asyncio.sleep(3)
            went_on.append("asked again")
        finally:
            ended.set()

    async def inside() -> None:
        wr.score_transcripts("aie", file, mcq="offline")

    monkeypatch.setattr("wardround.commands.score.choices.answer_questions", slow)
    loop = asyncio.new_event_loop()  # without the handler of `asyncio.run`, as in a notebook
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(inside())
    finally:
        loop.close()
    assert ended.wait(10) and not went_on


def test_a_file_and_a_folder_that_cannot_be_written_are_refused_before_a_judge_is_asked(
    file: Path, tmp_path: Path
) -> None:
    (tmp_path / "occupied").write_text("")
    beside = file.with_name("other.json")
    beside.write_text(json.dumps(CHINESE), "utf-8")
    with FakeServer() as server:
        judge = f"openai:any@{server.base_url}"
        for suite, options in (
            ("aie", {"diagnose": judge, "out": tmp_path / "occupied"}),
            ("aie-pairwise", {"judge": judge, "out": tmp_path / "occupied"}),
            ("clini-eval", {"judge": [judge], "details": tmp_path / "occupied" / "details.jsonl"}),
        ):
            with pytest.raises(ConfigurationError, match=r"occupied: (cannot be created|file exists)"):
                wr.score_transcripts(suite, file, beside, **options)
    assert server.requests == []


def test_what_the_judges_used_is_told_and_written(tmp_path: Path) -> None:
    file, written = tmp_path / "one.json", tmp_path / "scores.json"
    file.write_text(json.dumps([medpmc_data(turn("B-A", "Any pain?", "Yes, pain."), turn("D", "Bye."), id=1)]), "utf-8")
    with FakeServer() as server:
        priced = [f"model.paid.spec=openai:any@{server.base_url}", "model.paid.prices=[1, 2]"]
        asked = wr.score_transcripts("medpmc", file, judge=["paid"], settings=priced)["spent"]
        requests = len(server.requests)
        judge = f"openai:any@{server.base_url}"
        told = wardround("score", "medpmc", file, "--judge", judge, "--json", written)
    assert asked["calls"] == requests > 0 and 0 < asked["cost"] < asked["tokens"] * 2e-6
    assert f"Models were asked: {requests} call" in told.stdout and "the price of 1 answer is unknown" in told.stdout
    assert json.loads(written.read_text("utf-8"))["spent"] == {**asked, "cost": None}
    assert "spent" not in wr.score_transcripts("medpmc", file, judge=["offline"]), "rules cost nothing"


def test_tokens_that_no_server_reported_are_not_known_to_be_none(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps([medpmc_data(turn("B-A", "Any pain?", "Yes, pain."), turn("D", "Bye."), id=1)]), "utf-8")
    with FakeServer(faults=["no_counts"] * 9) as server:
        priced = [f"model.paid.spec=openai:any@{server.base_url}", "model.paid.prices=[1, 2]"]
        found = wr.score_transcripts("medpmc", file, judge=["paid"], settings=priced)
    assert found["spent"] == {"calls": 1, "tokens": None, "cost": None}
    assert used_notes(Spent(calls=1)) == ["Models were asked: 1 call; no token usage was reported."]


def test_what_the_command_refuses_is_an_error_with_the_same_words(file: Path, tmp_path: Path) -> None:
    for suite, sources, options, words in (
        ("ai", [file], {}, "suite 'ai': did you mean 'aie'"),
        ("aie", [tmp_path / "nowhere.json"], {}, "nowhere.json: file not found"),
        ("simulator", [tmp_path / "nowhere.json"], {}, "nowhere.json: file not found"),
        ("aie", [], {}, "transcripts: Missing required argument"),
        ("aie", [file], {"mod": "paper"}, "mod: no option of suite 'aie': did you mean 'mode'"),
        ("aie", [file], {"mode": "papr"}, "mode: .*did you mean 'paper'"),
        ("aie", [file], {"each_round": True}, "--each-round: needs a model that chooses"),
        ("aie", [file], {"settings": "max_tokens=800"}, r"settings = .max_tokens=800.; expected a list, \['max"),
        ("aie", [file], {"settings": 800}, "settings = 800; expected a dict by key"),
        ("aie", [file], {"settings": ["colour=red"]}, "--set colour: does not say how a model is asked"),
        ("aie", [file], {"settings": {"colour": "red"}}, "--set colour: does not say how a model is asked"),
        ("medchain", [file, file], {}, "suite 'medchain' takes one source"),
    ):
        with pytest.raises(wr.ConfigurationError, match=words):
            wr.score_transcripts(suite, *sources, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(scoring_functions()))
def test_every_command_can_be_called_from_python(name: str) -> None:
    """Whatever its parameters are called, none is taken by ours."""
    with pytest.raises(wr.ConfigurationError, match="no_such_option: no option of suite"):
        wr.score_transcripts(name, no_such_option=1)
    with pytest.raises(wr.ConfigurationError, match="no_such_option: no option of suite"):
        wr.score_transcripts(name.replace("-", "_"), no_such_option=1)
