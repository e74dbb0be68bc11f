"""A long answer, however it repeats itself, is scored in time that grows with its length."""

import time
from collections.abc import Callable

import pytest

from scoring.clini_eval.rules import is_urgent
from scoring.metrics.content import clauses_of
from scoring.metrics.diagnosis_names import relation

LENGTH = 20_000  # characters, for which the slowest of these took half a minute


@pytest.mark.parametrize("unit", ["一", "9", "没有", "a", " ", "(", "no pain and "])
@pytest.mark.parametrize(
    "score",
    [
        clauses_of,
        lambda text: is_urgent(text, "zh"),
        lambda text: relation(f"gout{text}x", "gout"),
    ],
    ids=["claims", "urgency", "names"],
)
def test_a_long_answer_that_repeats_itself_is_scored_in_time_that_grows_with_its_length(
    score: Callable[[str], object], unit: str
) -> None:
    score(unit)
    began = time.process_time()
    score((unit * LENGTH)[:LENGTH])
    assert time.process_time() - began < 10
