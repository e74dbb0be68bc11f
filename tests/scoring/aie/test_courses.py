import pytest

from scoring.aie.courses import action_shares, by_length, utterance_languages
from scoring.aie.transcripts import AieTranscript
from tests.scoring.transcripts_of_ours import ENGLISH, aie, turn


def test_shares_are_of_the_dialogues_that_get_to_a_turn() -> None:
    long = aie("x", turn("O", "a"), turn("A-B", "b"), turn("E", "c"))
    short = aie("x", turn("O", "a"), turn("B-B", "b"))
    untracked = aie("x", turn("", "a"), turn("E", "b"))
    assert action_shares([long, untracked, short]) == [
        (1, 2, {"O": 1.0}),
        (2, 2, {"A-B": 0.5, "B-B": 0.5}),
        (3, 1, {"E": 1.0}),
    ]
    assert action_shares([long, long, short])[1] == (2, 3, {"A-B": 2 / 3, "B-B": 1 / 3})
    assert action_shares([]) == []


def test_coverage_and_diagnosis_are_averaged_over_dialogues_of_one_length() -> None:
    told, silent = aie("cough", turn("O", "a", "cough")), aie("cough", turn("O", "a"), diagnosis="B")
    unanswered = aie("cough", diagnosis=None)
    assert by_length([told, silent, unanswered]) == [(0, 1, 0.0, 0.0), (1, 2, 0.5, 0.5)]
    assert by_length([unanswered], "paper") == [(0, 1, 0.0, None)], "nobody was asked for a diagnosis"


def test_utterances_are_counted_by_side_and_language() -> None:
    counts = utterance_languages(AieTranscript.model_validate(entry) for entry in ENGLISH)
    assert counts == {("doctor", "en"): 6, ("doctor", "zh"): 3, ("patient", "en"): 7, ("patient", "zh"): 1}
    assert utterance_languages([aie("x", turn("O", " ", "你好"), turn("E", "c"))]) == {
        ("patient", "zh"): 1,
        ("doctor", "en"): 1,
    }


def test_shares_of_a_turn_sum_to_one() -> None:
    for row in action_shares(AieTranscript.model_validate(entry) for entry in ENGLISH):
        assert sum(row.shares.values()) == pytest.approx(1)
