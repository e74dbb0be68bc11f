"""Who the patients of a run were played as, and how they spoke."""

from pathlib import Path
from typing import Any

import pytest

from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from scoring.suite import SUITES
from tests.support.recorded_runs import call, graded, write_run
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_runs
from wardround.tables import medpmc
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
    (table,) = medpmc.build_personas(find_runs([tmp_path / "run"]))
    professions = ("doctor", "farmer", "office worker", "student", "worker")
    expected = [f"{profession}, {sex}" for profession in professions for sex in ("female", "male")]
    assert sorted(row["persona"] for row in table.rows) == sorted(expected)
    assert all(row["dialogues"] == 1 and row["replies"] >= 1 and row["ratio_mean"] >= 1 for row in table.rows)
    assert any(row["ratio_mean"] > 1 and row["plain_mean"] < 100 for row in table.rows)
    assert all(row["refused_mean"] == 0 and row["refused_n"] == row["ratio_n"] for row in table.rows)
    assert all(row["Character feature_n"] == 1 for row in table.rows)


def test_the_averages_of_a_suite_are_among_a_personas_columns(tmp_path: Path) -> None:
    said = [Turn(speaker="doctor", text="Hello."), Turn(speaker="patient", text="It hurts, doctor.", plain="It hurts.")]
    scores = dict.fromkeys(SUITES["medpmc"].published, 40.0)
    played = graded("dentistry-05", answers=ConsultationAnswers(dialogue=said)).model_copy(update={"scores": scores})
    settings: dict[str, Any] = {"graph": "consultation", "suite": "medpmc", "workflow": {"patient": "medpmc"}}
    (table,) = medpmc.build_personas(find_runs([write_run(tmp_path / "one", [played], **settings)]))
    averages = SUITES["medpmc"].means
    assert averages and averages.keys() <= {column.name for column in table.columns}
    assert [table.rows[0][f"{name}_mean"] for name in averages] == [40.0] * len(averages)


def test_rewritings_that_were_refused_are_told_from_those_that_changed_nothing(tmp_path: Path) -> None:
    heard = ("It hurts, doctor.", "It hurts.", "It hurts.", "It hurts.")
    said = [Turn(speaker="patient", text=text, plain="It hurts.") for text in heard]
    calls = [call(f"actor/turn{turn}", "actor", error="too long" if turn == 1 else None) for turn in range(len(said))]
    played = graded("dentistry-05", answers=ConsultationAnswers(dialogue=said))
    settings: dict[str, Any] = {"graph": "consultation", "workflow": {"patient": "medpmc"}}
    run = write_run(tmp_path / "one", [played], {played.key: [*calls, call()]}, **settings)
    (table,) = medpmc.build_personas(find_runs([run]))
    assert (table.rows[0]["plain_mean"], table.rows[0]["refused_mean"]) == (75, 25)


def test_a_run_without_an_actor_has_no_personas(tmp_path: Path) -> None:
    (made,) = make_tables(find_runs([write_run(tmp_path / "one", [graded("dentistry-05")])]), ["personas"])
    assert made.reason.startswith("no patient spoke as a persona") and not made.tables
