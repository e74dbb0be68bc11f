"""The weights that tell which sentences speak of earlier episodes are those of the sentences that are shipped."""

import numpy as np
import pytest

from nodes.offline.earlier_episodes import WEIGHTS
from wardround.training.earlier_episodes import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_sentences() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.earlier_episodes`"
