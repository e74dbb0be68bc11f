"""The weights that tell who asks if something is well are those of the questions that are shipped."""

import numpy as np
import pytest

from nodes.offline.wellbeing import WEIGHTS
from wardround.training.wellbeing import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_questions() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.wellbeing`"
