"""A doctor who says nonsense words at length, the same over and over, or next to nothing."""

import random

import pytest

from scoring.aie.metrics import distinct_by_length, score_aie
from scoring.metrics.samples import Definition
from tests.scoring.transcripts_of_ours import aie, turn


def nonsense(words: int) -> str:
    drawn = random.Random(0)
    return " ".join("".join(drawn.choice("bdfgklmnp") + drawn.choice("aeiou") for _ in range(4)) for _ in range(words))


@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_it_is_distinct_in_both_modes_and_finds_nothing_out(definition: Definition) -> None:
    told = [turn("D", nonsense(5000), "What?")]
    found = score_aie([aie("A man has had a cough for 3 days. He smokes.", *told)], definition)
    assert found["DISTINCT"][0].value > 99
    assert found["COVERAGE"][0].value == found["INQUIRY_LOGIC"][0].value == 0


RECORD = "A man has had a dry cough for 3 days, worse at night. He smokes ten cigarettes a day and takes no medicine."
HONEST = [
    turn("O", "Hello, how can I help you?", "I have had a cough for 3 days."),
    turn("A-A-A", "Is it dry, or do you bring anything up?", "It is dry, and worse at night."),
    turn("A-A-A", "Do you smoke, and how many a day?", "Yes, ten cigarettes a day."),
    turn("A-A-A", "Do you take any medicine for it?", "No, I do not take any medicine, do you want me to?"),
]


def by_length(*history: dict[str, str]) -> float:
    (found,) = distinct_by_length([aie(RECORD, *history)])
    return found.value


def test_by_length_nonsense_has_nothing_of_it_and_an_honest_doctor_most() -> None:
    assert by_length(turn("D", nonsense(5000), "What?")) < 1
    assert by_length(*HONEST) > 50


def test_by_length_a_longer_dialogue_of_the_same_kind_loses_nothing_and_wins_nothing() -> None:
    (once,) = score_aie([aie(RECORD, *HONEST)])["DISTINCT"]
    (often,) = score_aie([aie(RECORD, *HONEST * 9)])["DISTINCT"]
    assert often.value < once.value / 4, "which falls with length"
    assert by_length(*HONEST * 9) == pytest.approx(by_length(*HONEST), abs=12)


def test_by_length_silence_and_one_word_over_and_over_pay_nothing() -> None:
    assert by_length(turn("O", "Hello", "I cough.")) < 10
    assert by_length(turn("D", "cough " * 500, "What?")) < 5


SURE = turn("A-A-A", "Do you smoke, and how many a day?", "Yes, ten cigarettes a day.")
MISSED = turn("A-A-B", "Any fever?", "No.")
ASKING = [HONEST[0], *HONEST[1:], MISSED]
DOCTORS = {
    "asks one sure thing": [HONEST[0], SURE],
    "asks it over and over": [HONEST[0], *[SURE] * 8],
    "says back what it hears": [HONEST[0], *[turn("D", "I have had a cough for 3 days.", "What do you mean?")] * 5],
    "refuses at length": [
        HONEST[0],
        turn("D", "I am a language model and cannot give medical advice. " * 30, "Please."),
    ],
    "says nothing": [HONEST[0], *[turn("D", "", "Pardon?")] * 8],
}


@pytest.mark.parametrize("doctor", DOCTORS)
def test_who_asks_only_what_is_sure_or_nothing_has_the_accuracy_and_pays_in_coverage(doctor: str) -> None:
    found, honest = (score_aie([aie(RECORD, *said)]) for said in (DOCTORS[doctor], ASKING))
    accuracy = [sample.value for sample in found["INQUIRY_ACC"]]
    assert set(accuracy) == ({100} if "asks" in doctor else set()), "the mean of what was asked alone"
    assert found["COVERAGE"][0].value < 0.75 * honest["COVERAGE"][0].value
    assert by_length(*DOCTORS[doctor]) < 0.75 * by_length(*ASKING)
