"""The weights that hear the meaning of a doctor's words are those of the wordings that are shipped."""

import numpy as np
import pytest

from nodes.offline.classifiers import WEIGHTS
from nodes.offline.orders import is_specific
from nodes.offline.subjects import KINDS, subjects, wordings
from wardround.training import meaning as training
from wardround.training.meaning import fingerprint


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_wordings() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.meaning`"
        assert stored["kind_labels"].tolist() == [*dict.fromkeys([*wordings("en"), *KINDS])]
        assert stored["subject_labels"].tolist() == [*subjects()]


def test_wordings_that_the_lists_read_in_another_way_are_other_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "kinds_to_learn", lambda language: [("Please have a chest X-ray.", "advice")])
    monkeypatch.setattr(training, "subjects_to_learn", lambda language: [("Do you smoke?", "smoking")])
    before = fingerprint()
    assert fingerprint() == before
    monkeypatch.setattr("nodes.offline.classifiers.is_specific", lambda *words: not is_specific(*words))
    assert fingerprint() != before
