"""The weights that tell paraphrases from opposites are those of the clauses that are shipped."""

import numpy as np
import pytest

from scoring.metrics.same_meaning import WEIGHTS
from wardround.training.same_meaning import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_clauses() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.same_meaning`"
