"""The weights that hear orders are those of the wordings that are shipped."""

import numpy as np
import pytest

from nodes.offline.hearing import WEIGHTS
from wardround.training.orders import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_orders() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.orders`"
