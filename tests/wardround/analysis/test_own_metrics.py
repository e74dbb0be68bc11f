"""Metrics of one's own, from the run over its files and tables to the data frame; the published average never moves."""

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cases import Case, load_cases
from cases.registry import GivenError
from llm import ModelSettings
from scoring.medchain.answers import Answers
from scoring.suite import SUITES, CaseScores, Suite, metric
from tests.support.metrics import suites_given_back
from tests.support.runs import IDS, results, run, short
from wardround import plugins, to_dataframe
from wardround.cli import app
from wardround.commands.summary_table import summary_table

BROKEN, LACKING, SCORED = sorted(IDS[:3])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A run without and one with metrics of one's own, which stay registered while the tests of this file run."""
    folder = tmp_path_factory.mktemp("runs")
    with suites_given_back():
        run(short(), folder / "without")

        @metric("urgency", suite="medchain", average=True)
        async def urgency(case: Case, answers: Answers) -> float | None:
            if case.id == BROKEN:
                raise ValueError("no urgency")
            return None if case.id == LACKING else 0.75

        @metric("named", suite="medchain")
        def named(case: Case, answers: Answers) -> float | None:
            return float(len(answers.diagnosis) > 0)

        @metric("leaves", suite="medchain")
        def leaves(case: Case, answers: Answers) -> float | None:
            raise SystemExit("no licence")

        run(short(), folder / "with")
        yield folder / "without", folder / "with"


def summary_of(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((path / "summary.json").read_text("utf-8"))
    return summary


@pytest.mark.slow
def test_every_case_is_scored_and_its_line_has_the_value_or_the_reason(runs: tuple[Path, Path]) -> None:
    kept = {result.case_id: result for result in results(runs[1])}
    assert {result.termination for result in kept.values()} == {"completed"}
    assert kept[SCORED].scores["urgency"] == 0.75 and kept[SCORED].scores["named"] == 1.0
    assert kept[SCORED].unscored["leaves"].startswith("metric failed: SystemExit: no licence (test_own_metrics.py")
    assert kept[BROKEN].unscored["urgency"].startswith("metric failed: ValueError: no urgency (")
    assert kept[LACKING].unscored["urgency"] == "the metric returned no value for this case"
    assert kept[BROKEN].scores["diagnosis"] is not None


@pytest.mark.slow
def test_the_summary_has_the_columns_and_the_published_ones_stand_to_the_last_digit(runs: tuple[Path, Path]) -> None:
    without, having = (summary_of(path)["scores"] for path in runs)
    assert list(having) == [*without, "urgency", "named", "leaves", "average_with_own"]
    assert {name: having[name] for name in without} == without
    assert having["urgency"] == {"mean": 0.75, "se": None, "ci95": None, "n": 1}
    means = [having[name]["mean"] for name in [*SUITES["medchain"].published, "urgency"]]
    known = [mean for mean in means if mean is not None]
    assert having["average_with_own"]["mean"] == pytest.approx(sum(known) / len(known))
    failed, nothing = summary_of(runs[1])["unscored"]["urgency"].items()
    assert failed[0].startswith("metric failed: ValueError: no urgency (test_own_metrics.py, line ") and failed[1] == 1
    assert nothing == ("the metric returned no value for this case", 1)
    assert summary_of(runs[1])["error_propagation"] == summary_of(runs[0])["error_propagation"] != []


def test_the_table_of_a_run_shows_the_columns_behind_the_average(runs: tuple[Path, Path]) -> None:
    console = Console(width=120, record=True)
    with console.capture() as capture:
        console.print(summary_table(summary_of(runs[1]), SUITES["medchain"]))
    text = capture.get()
    places = [text.index(title) for title in ("Average ", "Urgency", "Named", "Average with urgency")]
    assert places == sorted(places)
    assert "Urgency: 1 not scored (metric failed: ValueError: no urgency (test_own_metrics.py" in text


def test_a_run_of_before_is_scored_again_with_the_columns(runs: tuple[Path, Path], tmp_path: Path) -> None:
    for path in runs:
        done = CliRunner().invoke(app, ["score", "medchain", str(path), "--json", str(tmp_path / "scores.json")])
        assert done.exit_code == 0, done.output
        assert json.loads((tmp_path / "scores.json").read_text("utf-8"))["metrics"] == summary_of(runs[1])["scores"]


def test_runs_with_and_without_the_columns_are_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    for one, other in (runs, runs[::-1], (runs[1], runs[1])):
        done = CliRunner().invoke(app, ["compare", str(one), str(other), "--csv", str(tmp_path / "c.csv")])
        assert done.exit_code == 0, done.output
        rows = {row["score"]: row for row in csv.DictReader((tmp_path / "c.csv").read_text("utf-8").splitlines())}
        assert "Urgency" in rows and rows["Average"]["difference_mean"] == "0.0"
    assert rows["Named"]["difference_mean"] == "0.0" and rows["Named"]["difference_n"] == "3"


def test_the_data_frame_has_the_columns_and_the_reasons(runs: tuple[Path, Path]) -> None:
    frame = to_dataframe(runs[1])
    columns = list(frame.columns)
    assert columns[columns.index("treatment") + 1 :][:4] == ["urgency", "named", "leaves", "tokens"]
    rows = {row["case_id"]: row for row in frame.to_dict("records")}
    assert rows[SCORED]["urgency"] == 0.75
    assert rows[BROKEN]["unscored.urgency"].startswith("metric failed: ValueError: no urgency (")


def test_a_suite_of_ones_own_is_a_command_of_score(runs: tuple[Path, Path]) -> None:
    async def named(case: Case, answers: Answers, settings: ModelSettings) -> CaseScores:
        return CaseScores({"named": float(len(answers.diagnosis) > 0)})

    SUITES.add("named_only", Suite("named_only", {"named": "Named"}, named, needs=frozenset({"decisions"})))
    try:
        done = CliRunner().invoke(app, ["score", "named-only", str(runs[0])])
        assert done.exit_code == 0 and "named" in done.output and "1.000" in done.output, done.output
        assert CliRunner().invoke(app, ["score", "named_only", str(runs[0])]).output == done.output
        assert "named-only" in CliRunner().invoke(app, ["score", "--help"]).output
        mistyped = CliRunner().invoke(app, ["score", "named-onyl", str(runs[0])])
        assert mistyped.exit_code == 2 and "No such command 'named-onyl': did you mean 'named-only'?" in mistyped.output
    finally:
        del SUITES._entries["named_only"]


SUITE = """\
import wardround as wr
from scoring.suite import SUITES, Suite

async def named(case, answers, settings):
    return wr.CaseScores({"named": 1.0})

SUITES.add("of_a_plug_in", Suite("of_a_plug_in", {"named": "Named"}, named, needs=frozenset({"decisions"})))
"""


@pytest.mark.parametrize("after", [["--plugin", "{}"], ["--plugin={}"]])
def test_a_suite_of_a_plug_in_named_after_the_command_is_a_command_of_score(
    after: list[str], runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(SUITES, "_entries", dict(SUITES))
    (file := tmp_path / f"suite_of_{len(after)}.py").write_text(SUITE, "utf-8")
    scored = ["score", "of-a-plug-in", str(runs[0])]
    assert "simulator; for a suite of a plug-in, add --plugin FILE" in CliRunner().invoke(app, scored).output
    done = CliRunner().invoke(app, [*scored, *(each.format(file) for each in after)])
    assert done.exit_code == 0 and "named" in done.output, done.output


def test_a_suite_that_fails_with_one_case_scores_the_others(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(SUITES, "_entries", dict(SUITES))
    failing = f"    if case.id == {BROKEN!r}:\n        raise KeyError(case.id)\n    return"
    (file := tmp_path / "failing_suite.py").write_text(SUITE.replace("    return", failing), "utf-8")
    done = CliRunner().invoke(app, ["score", "of-a-plug-in", str(runs[0]), "--plugin", str(file)])
    assert done.exit_code == 1 and re.search(r"named +│ 1.000 .* 2 │", done.output), done.output
    told = " ".join(done.output.split())
    assert f"of the suite: case {BROKEN}: KeyError: '{BROKEN}' (plug-in failing_suite, line 6)" in told


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (CaseScores({"named": math.nan}), "suite 'mine': named is nan; expected a number from 0 to 1"),
        (CaseScores({"named": 7.0}), "suite 'mine': named is 7.0; expected a number from 0 to 1"),
        (CaseScores({"named": "high"}), "suite 'mine': named is 'high'; expected a number from 0 to 1"),
        ({"named": 1.0}, "suite 'mine': expected CaseScores, found {'named': 1.0}"),
        (CaseScores({"namd": 1.0}), "suite 'mine': it has no column 'namd': did you mean 'named'?"),
    ],
)
async def test_what_a_suite_of_ones_own_gives_is_checked_case_by_case(given: Any, reason: str) -> None:
    """A number beyond the ends had an interval without its mean; one that is none ended the summary of a paid run."""

    async def scored(case: Case, answers: Any, settings: ModelSettings) -> Any:
        return given

    suite = Suite("mine", {"named": "Named"}, scored, needs=frozenset({"decisions"}), ends=(0.0, 1.0))
    with pytest.raises(GivenError, match=re.escape(reason)):
        await suite.score(load_cases()[0], None, ModelSettings())
    plain = replace(suite, scored_by=lambda *_: given)
    with pytest.raises(GivenError, match=r"expected a coroutine function \(async def\) in scored_by"):
        await plain.score(load_cases()[0], None, ModelSettings())


async def test_a_column_that_a_suite_of_ones_own_leaves_out_is_unscored_with_a_reason() -> None:
    async def scored(case: Case, answers: Any, settings: ModelSettings) -> CaseScores:
        return CaseScores({"named": 1.0, "told": None, "seen": None}, {"seen": "no picture"})

    titles = {name: name.capitalize() for name in ("named", "told", "seen", "left_out")}
    found = await Suite("mine", titles, scored, needs=frozenset()).score(load_cases()[0], None, ModelSettings())
    assert found.values == {"named": 1.0, "told": None, "seen": None, "left_out": None}
    why = "the suite gave no value for this case"
    assert found.unscored == {"seen": "no picture", "told": why, "left_out": why}


def test_a_run_is_read_where_its_metrics_are_not_registered(runs: tuple[Path, Path]) -> None:
    with suites_given_back():
        for suite in SUITES.values():
            suite.metrics._entries = {}
        done = CliRunner().invoke(app, ["compare", str(runs[1]), str(runs[0])])
        assert done.exit_code == 0 and "Urgency" not in done.output, done.output
        assert "urgency" in to_dataframe(runs[1])


def test_a_table_in_percent_says_that_metrics_of_ones_own_need_not_be() -> None:
    with suites_given_back():
        assert len(SUITES["aie"].explained) == 1

        @metric("please", suite="aie")
        def please(case: Case, answers: Any) -> float | None:
            return 0.5

        assert SUITES["aie"].explained[1:] == ["Metrics of your own, in their own units: Please."]
        assert len(SUITES["medpmc"].explained) == 1, "Support is ours, and explained in its notes"
        assert SUITES["medchain"].explained == []
