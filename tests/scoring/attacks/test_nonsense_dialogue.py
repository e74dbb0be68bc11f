"""A doctor who says nonsense words at length."""

import random

import pytest

from scoring.aie.metrics import score_aie
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
