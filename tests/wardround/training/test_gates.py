"""The weights of the gates' classifiers are those that the training script gives, without the dialogues kept apart."""

from pathlib import Path

import numpy as np
import pytest

from cases.dialogues import Dialogue, Message
from nodes.reconstruction.alignment import SIZE
from nodes.reconstruction.learned import HEADS, WEIGHTS, WEIGHTS_OF
from wardround.training.gates import KEPT_APART, fitted, mts_dialogues, number_of, strangest

MTS = Path(__file__).resolve().parents[4] / "shared" / "datasets" / "mts_dialog" / "MTS-Dialog-TestSet-1.csv"


def test_every_head_has_weights_and_a_limit_and_scores_a_dialogue() -> None:
    spoken = [
        Message(role="assistant", content="Does your knee hurt?"),
        Message(role="user", content="It has hurt for a week."),
        Message(role="assistant", content="How old are you, then?"),
        Message(role="user", content="I am forty."),
    ]
    dialogue = Dialogue(id="a", messages=spoken, note="Pain of the knee for a week. Age 40.")
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert set(stored.files) == {*HEADS, *(f"{head}_limit" for head in HEADS)} - WEIGHTS_OF.keys()
        for head in HEADS:
            weights = stored[WEIGHTS_OF.get(head, head)].astype(np.float32)
            assert strangest(head, dialogue, weights) <= float(stored[f"{head}_limit"])


@pytest.mark.slow
@pytest.mark.skipif(not MTS.is_file(), reason=f"no data set at {MTS}")
@pytest.mark.parametrize("head", ["speaker", "expected", "unfounded"])
def test_the_shipped_weights_were_learned_from_the_dialogues_that_are_not_kept_apart(head: str) -> None:
    real = [dialogue for dialogue in mts_dialogues(MTS) if number_of(dialogue) not in KEPT_APART]
    assert len(real) == 140
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        difference = np.abs(fitted(head, real) - stored[head])
    linear, network = np.split(difference, [len(difference) - SIZE * (head == "unfounded")])
    assert linear.max() < 0.02
    assert network.sum() < 0.02 * SIZE  # the network's steps add up what differs by rounding
