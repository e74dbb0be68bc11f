"""Tables of a paper show failed cases both ways: left out, and counted as wrong."""

import asyncio
from pathlib import Path

import pytest

from tests.support.recorded_runs import write_run
from tests.support.runs import IDS
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.run_directory import Result, RunDirectory
from wardround.tables.making import make_tables


def _one_whole_and_one_with_failures(folder: Path, suite: str, patient: str) -> list[RecordedRun]:
    """Consult four cases offline; write a second run with the same dialogues, of which two cases failed."""
    settings = {
        "graph": "consultation",
        "suite": suite,
        "data": {"case_ids": IDS[:4]},
        "workflow": {"patient": patient, "max_turns": 6},
    }
    whole = folder / "whole"
    asyncio.run(run_experiment(Experiment.model_validate(settings), whole))
    results = [
        result
        if result.case_id in IDS[:2]
        else Result(case_id=result.case_id, epoch=0, termination="model_error", error="overloaded")
        for result in RunDirectory(whole).each_result()
    ]
    return find_runs([whole, write_run(folder / "failing", results, **settings)])


@pytest.mark.slow
def test_aies_table_has_a_column_with_failed_cases_as_wrong(tmp_path: Path) -> None:
    [made] = make_tables(_one_whole_and_one_with_failures(tmp_path, "aie", "saps"), ["aie"])
    [table] = made.tables
    bound = "failing, failed as wrong"
    assert [column.title for column in table.columns[1:4]] == ["whole", "failing", bound]
    rows = {row["metric"]: row for row in table.rows}
    for metric in ("COVERAGE", "INQUIRY_ACC", "INQUIRY_LOGIC", "DISTINCT"):
        assert 0 < rows[metric][f"{bound} mean"] == pytest.approx(rows[metric]["failing mean"] / 2), metric
    assert rows["AVG_TURN"][f"{bound} mean"] is None, "a number of turns is neither right nor wrong"
    assert any(note.startswith("Failed as wrong: ") for note in table.notes)


@pytest.mark.slow
def test_med_pmcs_table_has_a_row_with_failed_cases_as_wrong(tmp_path: Path) -> None:
    [made] = make_tables(_one_whole_and_one_with_failures(tmp_path, "medpmc", "medpmc"), ["medpmc"])
    rows = {row["doctor"]: row for row in made.tables[0].rows}
    bound = rows["failing, failed as wrong"]
    assert 0 < bound["Inquiry_mean"] == pytest.approx(rows["failing"]["Inquiry_mean"] / 2)
    assert any(note.startswith("Failed as wrong: ") for note in made.tables[0].notes)
