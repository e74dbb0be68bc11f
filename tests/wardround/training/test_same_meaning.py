"""The weights that tell paraphrases from opposites are those of the clauses that are shipped."""

import numpy as np
import pytest

from scoring.metrics import same_meaning
from scoring.metrics.same_meaning import WEIGHTS
from wardround.training import same_meaning as training
from wardround.training.same_meaning import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_clauses() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.same_meaning`"


def test_clauses_that_the_lists_read_in_another_way_are_other_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "pairs", lambda: [("the pain is worse", "the pain has eased", False)])
    before = fingerprint()
    monkeypatch.setattr(same_meaning, "is_contrary", lambda one, other: False)
    assert fingerprint() != before
