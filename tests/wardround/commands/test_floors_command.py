"""``wardround floors``: floor and ceiling of a run's cases, in its tables and its report too."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cases import load_cases
from scoring.suite import SUITES, metric
from tests.support.metrics import suites_given_back
from tests.support.recorded_runs import write_run
from wardround.cli import app
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run import from_python
from wardround.store.recorded_run import find_runs
from wardround.store.result import Result
from wardround.tables import scores


def run_of(path: Path, value: float = 0.5) -> Path:
    found = Result(case_id="dentistry-04", epoch=0, termination="completed", scores={"diagnosis": value})
    return write_run(path, [found], graph="clinical_workflow", data={"case_ids": ["dentistry-04"]})


def test_the_scores_of_runs_stand_over_floor_and_ceiling_which_are_never_the_best(tmp_path: Path) -> None:
    runs = find_runs([run_of(tmp_path / "one"), run_of(tmp_path / "two", 0.25)])
    (table,) = scores.build(runs)
    assert [row["run"] for row in table.rows] == ["one", "two", "[constant]", "[oracle]"]
    diagnosis = [column.name for column in table.columns].index("diagnosis")
    assert [line[diagnosis].best for line in table.lines] == [True, False, False, False]
    assert table.rows[3]["diagnosis_mean"] == 1.0
    assert any("judged by rules" in note for note in table.notes)


def test_a_metric_of_dialogues_is_said_to_find_none_in_answers_made_from_keys() -> None:
    with suites_given_back():
        metric("asked", suite="mvme")(lambda case, answers: float(len(answers.dialogue)))
        metric("listed", suite="medchain")(lambda case, answers: 1.0)
        told = {name: " ".join(scores.missing_floors({}, SUITES[name])) for name in ("mvme", "medchain")}
    assert "reports alone: if Asked reads the dialogue, it finds none" in told["mvme"]
    assert "dialogue" not in told["medchain"]


@pytest.mark.slow
def test_the_offline_baseline_of_a_run_is_kept_for_its_tables_and_its_report(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one")
    done = CliRunner().invoke(app, ["floors", str(run), "--json", str(tmp_path / "f.json")])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "f.json").read_text("utf-8"))
    assert list(found) == ["constant", "oracle", "offline baseline"]
    (table,) = scores.build(find_runs([run]))
    assert table.rows[-1]["run"] == "[offline baseline]"
    assert table.rows[-1]["average_mean"] == found["offline baseline"]["average"]["mean"]
    assert CliRunner().invoke(app, ["report", str(run)]).exit_code == 0
    assert "[offline baseline]" in (run / "report.html").read_text("utf-8")


def test_cases_that_the_offline_baseline_lacks_are_told_and_no_floor_says_that_none_failed(tmp_path: Path) -> None:
    man = next(case.id for case in load_cases() if case.patient.sex == "male")
    no_man = next(case.id for case in load_cases() if "menstr" in case.patient.present_illness)
    ids, workflow = [man, no_man], {"patient_sex": "male"}
    found = [Result(case_id=name, epoch=0, termination="completed", scores={"diagnosis": 0.5}) for name in ids]
    run = write_run(tmp_path / "one", found, graph="clinical_workflow", data={"case_ids": ids}, workflow=workflow)
    done = CliRunner().invoke(app, ["floors", str(run)])
    assert done.exit_code == 0, done.output
    assert "offline baseline: 1 of 2 cases failed, and are not scored" in " ".join(done.stdout.split())
    (table,) = scores.build(find_runs([run]))
    assert [row.get("failed") for row in table.rows] == [0, *[None] * (len(table.rows) - 1)]


def test_what_holds_no_cases_is_refused_and_a_runs_own_suite_is_not_overruled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("a", "b"):
        run_of(tmp_path / "sweep" / name)
    for arguments, why in (
        (["nowhere.jsonl"], "nowhere.jsonl"),
        ([str(run_of(tmp_path / "one")), "--suite", "mvme"], "leave out --suite and --split"),
        (["--suite", "nope"], "unknown suite 'nope'"),
        ([str(tmp_path / "sweep")], f"contains 2 runs; name one of them ({tmp_path}/sweep/a, {tmp_path}/sweep/b)"),
        ([str(tmp_path / "empty")], "is not a run directory"),
    ):
        done = CliRunner().invoke(app, ["floors", *arguments])
        assert done.exit_code == 2 and why in done.stderr


@pytest.mark.parametrize("suite", ["aie", "medpmc"])
def test_cases_alone_can_be_scored_by_any_suite_since_the_baseline_gets_a_patient_that_it_can_score(
    suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(experiment: Experiment, path: Path) -> None:
        raise ConfigurationError(f"{experiment.scored_by} with {experiment.context.patient}")

    monkeypatch.setattr(from_python, "run_experiment", refuse)
    done = CliRunner().invoke(app, ["floors", "--suite", suite])
    assert done.exit_code == 2 and f"{suite} with " in done.stderr
    assert suite != "aie" or "aie with saps" in done.stderr


@pytest.mark.parametrize(
    "written",
    [
        "[1]",
        '{"constant": {"diagnosis": {"mean": 1e999, "n": 1}}}',
        '{"constant": {"diagnosis": {"mean": 0.5, "n": 900}}}',  # of another run
    ],
)
def test_floors_that_cannot_be_read_are_named_and_the_table_is_there(written: str, tmp_path: Path) -> None:
    run = run_of(tmp_path / "one")
    (run / "floors.json").write_text(written, "utf-8")
    (table,) = scores.build(find_runs([run]))
    (note,) = [note for note in table.notes if "run `wardround floors` to write it anew" in note]
    assert len(table.rows) == 1 and "\n" not in note
