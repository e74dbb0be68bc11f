from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.medchain.error_propagation import error_propagation
from scoring.medchain.suite import suite

COLUMNS = st.tuples(st.sampled_from([None, 0.0, 1.0]), *[st.none() | st.floats(0, 1)] * 5)


def scores(*values: float | None) -> dict[str, float | None]:
    return dict(zip(suite.published, values, strict=True))


CASES = [
    scores(1, 1, 0.8, 0.9, 1.0, 0.5),  # right throughout
    scores(1, 1, 0.8, 0.9, 0.25, 1.0),  # wrong at diagnosis
    scores(1, 0, 0.4, 1.0, 1.0, 1.0),  # wrong at history-taking
    scores(0, 0, 1.0, 1.0, 1.0, 1.0),  # wrong at referral
]


def test_an_error_stops_a_case_and_accuracy_is_given_that_all_before_was_right() -> None:
    passages = error_propagation(CASES, suite.stages, threshold=0.5)
    assert [passage.stage for passage in passages] == list(suite.stages)
    assert [passage.entered for passage in passages] == [4, 3, 2, 2, 1]
    assert [passage.still_right for passage in passages] == [3, 2, 2, 1, 1]
    assert [passage.accuracy.mean for passage in passages] == pytest.approx([3 / 4, 2 / 3, 1, 1 / 2, 1])
    low, high = passages[2].accuracy.ci95 or (0, 0)
    assert 0 < low < high == 1, "two of two right are no certainty"


def test_the_threshold_decides_what_is_right_and_does_not_soften_the_referral() -> None:
    for threshold, still_right in ((0.25, [3, 3, 3, 3, 3]), (0.9, [3, 0, 0, 0, 0])):
        assert [passage.still_right for passage in error_propagation(CASES, suite.stages, threshold)] == still_right


def test_the_second_referral_level_can_be_a_stage_of_its_own() -> None:
    passages = error_propagation(CASES, ("referral_level1", "referral_level2"))
    assert [passage.still_right for passage in passages] == [3, 2]


def test_a_case_passes_a_stage_without_a_score_and_is_counted_as_unscored_and_not_as_right() -> None:
    passages = error_propagation([scores(1, 1, 1, None, 1, 0)], suite.stages)
    assert [passage.unscored for passage in passages] == [0, 0, 1, 0, 0]
    assert [passage.still_right for passage in passages] == [1, 1, 0, 1, 0]
    assert passages[2].accuracy.mean is None


def test_a_case_without_any_score_is_left_out() -> None:
    assert error_propagation([scores(*[None] * 6)], suite.stages)[0].entered == 0


@pytest.mark.parametrize("threshold", [0, -1, 1.1])
def test_a_threshold_that_decides_nothing_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        error_propagation(CASES, suite.stages, threshold=threshold)


@settings(max_examples=20, deadline=None)
@given(st.lists(COLUMNS, max_size=8), st.floats(0.01, 1), st.randoms())
def test_those_who_enter_are_the_right_and_the_unscored_whatever_the_order_of_cases(
    rows: list[tuple[float | None, ...]], threshold: float, random: Random
) -> None:
    cases = [scores(*row) for row in rows]
    passages = error_propagation(cases, suite.stages, threshold)
    for earlier, later in pairwise(passages):
        assert later.entered == earlier.still_right + earlier.unscored <= earlier.entered
    random.shuffle(cases)
    assert error_propagation(cases, suite.stages, threshold) == passages
