"""The runs that are measured."""

import asyncio
from pathlib import Path

import pytest

from benchmarks import many_cases
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment


def test_a_finished_run_is_one_that_its_command_accepts_and_has_nothing_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_cases, "_PLAYED", 1)
    many_cases.write_cases(tmp_path / "cases.jsonl", 3)
    many_cases.write_finished_run(tmp_path / "cases.jsonl", tmp_path / "run")

    again: list[str] = []
    experiment = Experiment.model_validate({"data": {"cases": str(tmp_path / "cases.jsonl")}})
    summary = asyncio.run(run_experiment(experiment, tmp_path / "run", lambda result, *_: again.append(result.case_id)))

    assert (summary["attempted"], summary["not_attempted"], again) == (3, 0, [])
