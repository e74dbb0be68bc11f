"""Tables of a paper show failed cases both ways: left out, and counted as wrong."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cases import load_cases
from tests.support.recorded_runs import write_run
from wardround.commands.score import score_app
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory
from wardround.tables.making import make_tables

_HOW_MANY = "failing: 2 of 4 cases failed, and are not scored."


def _one_whole_and_one_with_failures(folder: Path, suite: str, patient: str) -> list[RecordedRun]:
    """Consult four English cases offline; write a second run with the same dialogues, of which two cases failed."""
    ids = [case.id for case in load_cases(split="test") if case.language == "en"][:4]
    settings = {
        "graph": "consultation",
        "suite": suite,
        "data": {"case_ids": ids},
        "workflow": {"patient": patient, "max_turns": 6},
    }
    whole = folder / "whole"
    asyncio.run(run_experiment(Experiment.model_validate(settings), whole))
    results = [
        result
        if result.case_id in ids[:2]
        else Result(case_id=result.case_id, epoch=0, termination="model_error", error="overloaded")
        for result in RunDirectory(whole).each_result()
    ]
    return find_runs([whole, write_run(folder / "failing", results, **settings)])


@pytest.mark.slow
def test_aies_table_has_a_column_with_failed_cases_as_wrong(tmp_path: Path) -> None:
    made, *others = make_tables(
        _one_whole_and_one_with_failures(tmp_path, "aie", "saps"), ["aie", "actions", "dialogues", "simulators"]
    )
    [table] = made.tables
    assert all(_HOW_MANY in one.notes for each in (made, *others) for one in each.tables)
    bound = "failing, failed as wrong"
    assert [column.title for column in table.columns[1:4]] == ["whole", "failing", bound]
    rows = {row["metric"]: row for row in table.rows}
    for metric in ("COVERAGE", "INQUIRY_ACC", "INQUIRY_LOGIC", "DISTINCT"):
        assert 0 < rows[metric][f"{bound} mean"] == pytest.approx(rows[metric]["failing mean"] / 2), metric
    assert rows["AVG_TURN"][f"{bound} mean"] is None, "a number of turns is neither right nor wrong"
    assert any(note.startswith("Failed as wrong: ") for note in table.notes)
    assert any(note.startswith("The printed cells follow other definitions") for note in table.notes)


@pytest.mark.slow
def test_med_pmcs_table_has_a_row_with_failed_cases_as_wrong(tmp_path: Path) -> None:
    made, personas = make_tables(_one_whole_and_one_with_failures(tmp_path, "medpmc", "medpmc"), ["medpmc", "personas"])
    assert all(_HOW_MANY in table.notes for table in (*made.tables, *personas.tables))
    rows = {row["doctor"]: row for row in made.tables[0].rows}
    bound = rows["failing, failed as wrong"]
    assert 0 < bound["Inquiry_mean"] == pytest.approx(rows["failing"]["Inquiry_mean"] / 2)
    decision = [bound[f"{name}_mean"] for name in ("Diagnosis", "Treatment", "Avg. (decision)")]
    assert 0 < decision[2] == pytest.approx((decision[0] + decision[1]) / 2)
    assert any(note.startswith("Failed as wrong: ") for note in made.tables[0].notes)


@pytest.mark.slow
def test_scores_of_runs_show_failed_cases_both_ways_too(tmp_path: Path) -> None:
    whole, failing = (run.path for run in _one_whole_and_one_with_failures(tmp_path, "aie", "saps"))

    def said(*arguments: object) -> str:
        told = CliRunner().invoke(score_app, [*map(str, arguments)], env={"COLUMNS": "400"})
        assert told.exit_code == 0, told.output
        return told.stdout

    alone = said("aie", failing, "--json", tmp_path / "scores.json")
    bounds = dict(re.findall(r"│ (\w+) +│ +([\d.]+)", alone.partition("Failed as wrong (a lower bound)")[2]))
    means = dict(re.findall(r"│ (\w+) +│ +([\d.]+)", alone.partition("Failed as wrong")[0]))
    for metric in ("COVERAGE", "INQUIRY_ACC", "DISTINCT"):
        assert 0 < float(bounds[metric]) == pytest.approx(float(means[metric]) / 2, abs=0.001), metric
    written = json.loads((tmp_path / "scores.json").read_text("utf-8"))["failed_as_wrong"]
    assert written["COVERAGE"]["mean"] == pytest.approx(float(bounds["COVERAGE"]), abs=0.001)
    assert "AVG_TURN" in means and "AVG_LEN" in means
    assert "Failed as wrong" not in said("aie", whole)
    assert "failing, failed as wrong" in said("aie", whole, failing, "--json", tmp_path / "both.json")
    both = json.loads((tmp_path / "both.json").read_text("utf-8"))
    assert both["files_failed_as_wrong"] == {"failing": written}
    for suite in (["aie"], ["clini-eval"], ["medpmc", "--recall", "rougeL"]):
        assert _HOW_MANY in said(suite[0], failing, *suite[1:]), suite
    for name in ("aie", "medpmc"):
        assert f"--against {_HOW_MANY}" in said(name, whole, "--against", failing), name


@pytest.mark.parametrize(
    ("suite", "scores", "without"),
    [
        ("clini_eval_paper", {"Medical History": 30.0, "Total Score": 80.0, "Avg. Turns": 12.0}, {"Avg. Turns"}),
        ("medpmc_patient", {"D": 2.0, "Total": 9.0, "Character feature": 4.0}, set()),
        ("medpmc_standard", {"D": 2.0, "Total": 9.0}, set()),
        ("medpmc", {"Diagnosis": 30.0, "Treatment": 60.0, "Turns": 9.0}, {"Turns"}),
    ],
)
def test_points_with_a_scale_of_their_own_are_zero_where_a_case_or_its_judge_failed(
    suite: str, scores: dict[str, float], without: set[str], tmp_path: Path
) -> None:
    failed = Result(case_id="b", epoch=0, termination="model_error")
    unjudged = Result(
        case_id="c", epoch=0, termination="completed", unscored=dict.fromkeys(scores, "judge failed: unreachable")
    )
    found = [Result(case_id="a", epoch=0, termination="completed", scores=scores), failed, unjudged]
    (run,) = find_runs([write_run(tmp_path / "run", found, graph="consultation", suite=suite)])
    ([table],) = [made.tables for made in make_tables([run], ["scores"])]
    bound = table.rows[1]
    assert bound["run"] == "run, failed as wrong"
    for name, score in scores.items():
        assert bound.get(f"{name}_mean") == (None if name in without else pytest.approx(score / 3)), name
