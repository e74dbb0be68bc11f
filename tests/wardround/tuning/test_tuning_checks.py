"""The checks of a training can fail: each is shown what it must object to."""

import math
from pathlib import Path

import pytest

from wardround.tuning.configuration import TuningError
from wardround.tuning.curve import Step
from wardround.tuning.directory import TuningDirectory
from wardround.tuning.smoke import frozen_faults, loss_faults, reload_faults


def steps(*losses: float) -> list[Step]:
    return [Step(number, 0.1 * number, loss, 0.01) for number, loss in enumerate(losses, start=1)]


@pytest.mark.parametrize(
    ("losses", "wanted", "said"),
    [
        ((3.0, 2.0, 1.0), 3, []),
        ((3.0, 2.0), 3, ["2 steps are recorded, not 1 to 3"]),
        ((3.0, math.nan, 1.0), 3, ["step 2: the loss is nan"]),
        ((1.0, 2.0, 3.0), 3, ["the loss went from 1.000 to 3.000"]),
    ],
)
def test_the_loss_must_be_on_record_a_number_and_falling(
    losses: tuple[float, ...], wanted: int, said: list[str]
) -> None:
    assert loss_faults(steps(*losses), wanted) == said


@pytest.mark.slow  # PyTorch is imported
def test_a_base_weight_that_moved_or_is_missing_is_named() -> None:
    import torch  # not for every process that collects

    before = {"a": torch.zeros(2), "b": torch.ones(2)}
    assert frozen_faults(before, {name: weight.clone() for name, weight in before.items()}) == []
    assert frozen_faults(before, {"a": torch.tensor([0.0, 1e-7])}) == [
        "b is in only one of the two models",
        "a has changed",
    ]


@pytest.mark.slow  # PyTorch is imported
def test_a_reload_must_give_the_very_same_logits_and_others_than_the_base() -> None:
    import torch

    base, tuned = torch.zeros(3), torch.ones(3)
    assert reload_faults(base, tuned, tuned.clone()) == []
    assert "differ" in reload_faults(base, tuned, tuned + 1e-6)[0]
    assert "changes nothing" in reload_faults(base, base.clone(), base.clone())[0]


def test_a_training_refused_for_what_lies_in_its_directory_leaves_nothing_there_but_the_lock(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    directory = TuningDirectory(tmp_path)
    with directory.locked(), pytest.raises(TuningError, match="already contains a model"):
        directory.check({})
    assert {path.name for path in tmp_path.iterdir()} <= {"config.json", ".lock"}
