"""The weights that hear the meaning of a doctor's words are those of the wordings that are shipped."""

import numpy as np
import pytest

from nodes.offline.meaning import KINDS, WEIGHTS, subjects, wordings
from wardround.training.meaning import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_wordings() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.meaning`"
        assert stored["kind_labels"].tolist() == [*dict.fromkeys([*wordings("en"), *KINDS])]
        assert stored["subject_labels"].tolist() == [*subjects()]
