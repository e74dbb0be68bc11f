"""What is checked, told and opened once for all runs of a sweep."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.recorded_runs import write_run
from tests.support.runs import IDS
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import Sweep
from wardround.run.sweep import run_order
from wardround.run.whole_sweep import check_all, shared_cluster, warnings_of


def sweep(**runs: dict[str, Any]) -> Sweep:
    return Sweep("study", {name: Experiment.model_validate(run) for name, run in runs.items()})


def test_what_is_unknown_of_models_and_shared_by_seeds_is_told_once() -> None:
    models = {"default": "anthropic:new"}
    told = warnings_of(sweep(one={"seed": 1, "epochs": 3, "models": models}, two={"seed": 3, "models": models}))
    assert list(told) == [
        "no price is known for anthropic:new, so its cost will be missing; set it in [workflow.prices]",
        "anthropic:new: the run's seed is not sent to it, so its answers may differ between runs",
        "each epoch adds its number to the seed, so runs with different seeds share the seeds 3: a model that heeds "
        "its seed repeats itself there; choose seeds at least 3 apart",
    ]


@pytest.mark.parametrize(
    ("addresses", "opened"),
    [(["a:1", "a:1"], ["a:1"]), (["a:1", None], ["a:1"]), (["a:1", "b:1"], []), (["a:1"], []), ([None, None], [])],
)
def test_runs_on_one_cluster_share_it(addresses: list[Any], opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setitem(sys.modules, "wardround.run.engines.ray", SimpleNamespace(connected=asked.append))
    places = [{"run": {"engine": "ray", "address": one}} if one else {} for one in addresses]
    shared_cluster(sweep(**{str(number): place for number, place in enumerate(places)}))
    assert asked == opened


def test_a_run_that_began_otherwise_is_refused_before_any_run_goes_on(tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "graph": "dispute_resolution",
        "workflow": {"retrieval": False},
        "data": {"case_ids": IDS[:1]},
    }
    write_run(tmp_path / "second", [], **how, seed=1)
    with pytest.raises(
        ConfigurationError,
        match=r"second: contains a run with another configuration:\n  configuration.seed: was 1, is 2",
    ):
        check_all(sweep(first=how, second={**how, "seed": 2}), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["second"]
    check_all(sweep(first=how, second={**how, "seed": 1}), tmp_path)
    assert run_order(tmp_path) == ["first", "second"]
