"""The 34 numbers of Clini-Eval are kept with each case and stand beside each other for any runs."""

from pathlib import Path

from tests.support.recorded_runs import graded, write_run
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_runs
from wardround.tables import clinichat
from wardround.tables.making import make_tables


async def test_each_number_has_a_row_and_each_run_a_column(tmp_path: Path) -> None:
    for way in ("direct", "interactive"):
        asked = {"graph": "reconstruction", "suite": "clini_eval_paper", "data": {"case_ids": ["dentistry-05"]}}
        experiment = Experiment.model_validate({**asked, "workflow": {"reconstruction": way}})
        await run_experiment(experiment, tmp_path / way)
    (table,) = clinichat.build_leaves(find_runs([tmp_path / "direct", tmp_path / "interactive"]))
    rows = {row["leaf"]: row for row in table.rows}
    assert len(rows) == 34 and sum(row["maximum"] for row in rows.values()) == 100
    assert rows["Chief Complaint"]["0_mean"] > 0 and rows["Medical Exam"]["1_n"] == 1
    assert rows["Organization"]["0_mean"] is None  # no rule assesses it
    assert [column.title for column in table.columns][3:] == ["direct", "interactive"]


def test_a_run_of_another_suite_has_no_such_numbers(tmp_path: Path) -> None:
    (made,) = make_tables(find_runs([write_run(tmp_path / "one", [graded("dentistry-05")])]), ["leaves"])
    assert made.reason == "no run was scored by suite clini_eval" and not made.tables
