"""Scoring a finished run again, and comparing runs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.fake_server import FakeServer
from wardround.cli import app

runner = CliRunner()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two finished offline runs of the same three cases."""
    folder = tmp_path_factory.mktemp("runs")
    for name, settings in (("full", []), ("alone", ["--set", "general_agents=1", "--set", "feedback=off"])):
        arguments = ["run", "--limit", "3", "--set", "retrieval=false", *settings, "--out", str(folder / name)]
        assert runner.invoke(app, arguments).exit_code == 0
    return folder / "full", folder / "alone"


@pytest.mark.slow
def test_rescoring_with_the_same_judges_gives_the_same_scores(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = tmp_path / "scores.json"
    done = runner.invoke(app, ["score", "medchain", str(runs[0]), "--json", str(written)])
    assert done.exit_code == 0, done.output
    scores = json.loads(written.read_text("utf-8"))
    summary = json.loads((runs[0] / "summary.json").read_text("utf-8"))
    assert scores["metrics"] == summary["scores"]
    assert (scores["suite"], scores["mode"], scores["n"]) == ("medchain", "sound", 3)


@pytest.mark.slow
def test_rescoring_asks_the_named_judge_and_nobody_else(runs: tuple[Path, Path]) -> None:
    with FakeServer() as server:
        done = runner.invoke(
            app, ["score", "medchain", str(runs[0]), "--models", f"diagnosis_judge=openai:fake-model@{server.base_url}"]
        )
        asked = len(server.requests)
    assert done.exit_code == 0, done.output
    assert asked == 3  # one grade a case; no doctor, no patient


def test_rescoring_changes_nothing_in_the_run(runs: tuple[Path, Path]) -> None:
    before = {path: path.read_bytes() for path in runs[0].glob("*.json*")}
    assert runner.invoke(app, ["score", "medchain", str(runs[0])]).exit_code == 0
    assert {path: path.read_bytes() for path in runs[0].glob("*.json*")} == before


def test_a_directory_without_a_run_is_refused_by_name(tmp_path: Path) -> None:
    for arguments in (["score", "medchain", str(tmp_path)], ["compare", str(tmp_path), str(tmp_path)]):
        done = runner.invoke(app, arguments)
        assert done.exit_code == 2
        assert "is not a run directory" in done.output


def test_comparing_a_run_with_itself_finds_no_difference(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", str(runs[0]), str(runs[0])])
    assert done.exit_code == 0
    assert "+0.0000" in done.output
    assert "-0." not in done.output.split("full - full")[1]


def test_comparing_two_runs_shows_both_and_their_paired_difference(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", *map(str, runs)])
    assert done.exit_code == 0
    assert "alone - full" in done.output


def test_one_run_alone_cannot_be_compared(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", str(runs[0])])
    assert done.exit_code == 2
    assert "two run directories" in done.output
