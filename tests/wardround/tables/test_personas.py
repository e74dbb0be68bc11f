"""Who the patients of a run were played as, and how they spoke."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_runs import graded, write_run
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_runs
from wardround.tables import personas
from wardround.tables.making import make_tables


@pytest.mark.slow
async def test_ten_epochs_of_a_case_play_all_ten_personas_and_each_has_its_row(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"patient": "medpmc", "retrieval": False, "max_turns": 3}
    experiment = Experiment.model_validate(
        {
            "graph": "consultation",
            "suite": "medpmc_patient",
            "data": {"case_ids": ["dentistry-05"]},
            "workflow": {**settings, "patient_profession": "drawn", "patient_sex": "drawn"},
            "epochs": 10,
        }
    )
    await run_experiment(experiment, tmp_path / "run")
    (table,) = personas.build(find_runs([tmp_path / "run"]))
    professions = ("doctor", "farmer", "office worker", "student", "worker")
    expected = [f"{profession}, {sex}" for profession in professions for sex in ("female", "male")]
    assert sorted(row["persona"] for row in table.rows) == sorted(expected)
    assert all(row["dialogues"] == 1 and row["replies"] >= 1 and row["ratio_mean"] >= 1 for row in table.rows)
    assert any(row["ratio_mean"] > 1 and row["plain_mean"] < 100 for row in table.rows)
    assert all(row["Character feature_n"] == 1 for row in table.rows)


def test_a_run_without_an_actor_has_no_personas(tmp_path: Path) -> None:
    (made,) = make_tables(find_runs([write_run(tmp_path / "one", [graded("dentistry-05")])]), ["personas"])
    assert made.reason.startswith("no patient spoke as a persona") and not made.tables
