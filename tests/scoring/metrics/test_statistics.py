import math
import statistics
import time
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import scoring.metrics.statistics as statistics_of_ours
from scoring.metrics.statistics import Estimate, estimate, estimate_columns

SCORES = st.floats(0, 1)


def test_nothing_has_no_mean_and_one_value_no_spread() -> None:
    assert estimate([]) == Estimate(mean=None, se=None, ci95=None, n=0)
    assert estimate([0.4]) == Estimate(mean=0.4, se=None, ci95=None, n=1)


def test_the_standard_error_is_that_of_a_sample() -> None:
    values = [0.1, 0.5, 0.4, 0.9]
    result = estimate(values)
    assert result.mean == pytest.approx(statistics.fmean(values))
    assert result.se == pytest.approx(statistics.stdev(values) / 2)


def test_the_published_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(1).beta(2, 3, 80)
    result = estimate(values.tolist(), published=True)
    assert result.interval == "percentile"
    reference = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert result.ci95 == pytest.approx((reference.low, reference.high), abs=0.004)


@pytest.mark.parametrize("right", range(11))
def test_the_interval_of_a_share_is_wilsons(right: int) -> None:
    theirs = scipy.stats.binomtest(right, 10).proportion_ci(method="wilson")
    found = estimate([1.0] * right + [0.0] * (10 - right), ends=(0, 1))
    assert found.ci95 == pytest.approx((theirs.low, theirs.high), abs=1e-9) and found.interval == "wilson"
    percent = estimate([100.0] * right + [0.0] * (10 - right), ends=(0, 100)).ci95
    assert percent == pytest.approx((100 * theirs.low, 100 * theirs.high), abs=1e-7)
    grades = estimate([4.0] * right + [1.0] * (10 - right), ends=(1, 4)).ci95
    assert grades == pytest.approx((1 + 3 * theirs.low, 1 + 3 * theirs.high), abs=1e-8)


def test_a_large_sample_has_students_interval_and_a_smaller_one_an_expanded_bootstrap() -> None:
    values = np.random.default_rng(5).beta(2, 3, 500)
    found, standard_error = estimate(values.tolist()), values.std(ddof=1) / math.sqrt(500)
    assert found.interval == "t"
    assert found.ci95 == pytest.approx(scipy.stats.t.interval(0.95, 499, values.mean(), standard_error), abs=1e-9)
    assert estimate(values[:499].tolist()).interval == "bca"
    ten = estimate(values[:10].tolist())
    level = 0.98289  # of the normal distribution between plus and minus 2.2622 (Student's t of ten) * sqrt(10 / 9)
    theirs = scipy.stats.bootstrap(
        (values[:10],), np.mean, n_resamples=10_000, confidence_level=level, rng=np.random.default_rng(2)
    ).confidence_interval
    assert ten.interval == "bca" and ten.ci95 == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_the_interval_of_a_large_sample_stays_within_its_values() -> None:
    found = estimate([1.0] * 599 + [0.5], ends=(0, 1))
    assert found.interval == "t" and found.ci95 and found.ci95[0] < 0.9992 and found.ci95[1] == 1.0


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.0, 100.0), (1.0, 5.0)])
def test_the_interval_of_values_that_are_all_wrong_or_right_begins_or_ends_exactly_there(
    ends: tuple[float, float],
) -> None:
    """Tables as CSV had 4.4e-16 and 0.9999999999999999."""
    found = [estimate([end] * n, ends=ends).ci95 or ends for n in range(2, 60) for end in ends]
    assert {low for low, _ in found[::2]} == {ends[0]} and {high for _, high in found[1::2]} == {ends[1]}


def test_the_share_of_epochs_has_wilsons_interval_for_as_many_values_as_their_design_effect_leaves() -> None:
    epochs, cases = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], ["a", "a", "b", "b", "c", "c"]
    found = estimate(epochs, cases)
    # Sums of residuals 1, 0 and -1: a variance of 2 / 36, as 4.5 independent values have; Student's t of three cases.
    square = scipy.stats.t.ppf(0.975, 2) ** 2 / 4.5
    reach = math.sqrt(square * (0.25 + square / 4)) / (1 + square)
    assert found.interval == "wilson" and found.ci95 == pytest.approx((0.5 - reach, 0.5 + reach), abs=1e-9)
    percent = estimate([100 * value for value in epochs], cases)
    assert percent.interval == "wilson" and percent.ci95 == pytest.approx((50 - 100 * reach, 50 + 100 * reach))


def test_differences_of_0_and_1_are_no_wrong_and_right() -> None:
    values = [0.0, 1.0, 0.0, 1.0, 0.0]
    assert estimate(values).interval == "wilson" and estimate(values, differences=True).interval == "bca"


def test_scores_that_are_all_the_same_are_not_sure() -> None:
    assert estimate([1.0] * 10, ends=(0, 1)).ci95 == pytest.approx((0.7225, 1), abs=1e-4)
    assert estimate([0.5] * 8, ends=(0, 1)).ci95 == pytest.approx((0.338, 0.662), abs=1e-3)
    assert estimate([2.5] * 8, ends=(1, 4)).ci95 == pytest.approx((2.014, 2.986), abs=1e-3)
    assert estimate([12.0] * 8) == Estimate(mean=12.0, se=0.0, n=8)  # a length has no ends


Drawn = tuple[list[float], list[int] | None]
OVERLAPS = {0.0: 0.25, 0.2: 0.1, 0.25: 0.15, 1 / 3: 0.2, 0.5: 0.15, 2 / 3: 0.05, 1.0: 0.1}


def overlaps(generator: np.random.Generator) -> Drawn:
    """Overlaps of sets in ten cases."""
    return generator.choice(list(OVERLAPS), 10, p=list(OVERLAPS.values())).tolist(), None


def near_the_top(generator: np.random.Generator) -> Drawn:
    """Recalls of which most are nearly whole."""
    return generator.beta(5, 1, 10).tolist(), None


def right_or_wrong(generator: np.random.Generator) -> Drawn:
    """Right in nine of ten cases."""
    return (generator.random(10) < 0.9).astype(float).tolist(), None


def epochs(generator: np.random.Generator) -> Drawn:
    """Five epochs of ten cases, of which some are easier than others."""
    right = generator.random((10, 5)) < generator.beta(1.2, 0.8, (10, 1))
    return right.ravel().astype(float).tolist(), [case for case in range(10) for _ in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "true"), [(overlaps, 0.3325), (near_the_top, 5 / 6), (right_or_wrong, 0.9), (epochs, 0.6)]
)
def test_intervals_of_ten_cases_cover_the_truth(
    draw: Callable[[np.random.Generator], Drawn], true: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics_of_ours, "RESAMPLES", 1000)
    generator, trials, covered = np.random.default_rng(7), 300, 0
    for _ in range(trials):
        values, cases = draw(generator)
        low, high = estimate(values, cases, ends=(0, 1)).ci95 or (0, 0)
        covered += low <= true <= high
    assert 0.90 <= covered / trials <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "share"), [(2, 0.48), (3, 0.69), (4, 0.81)])
def test_intervals_of_fewer_than_five_cases_cover_too_little_as_the_page_says(
    cases: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics_of_ours, "RESAMPLES", 1000)
    generator, trials, covered = np.random.default_rng(7), 300, 0
    for _ in range(trials):
        low, high = estimate(generator.beta(5, 1, cases).tolist(), ends=(0, 1)).ci95 or (0, 0)
        covered += low <= 5 / 6 <= high
    assert covered / trials == pytest.approx(share, abs=0.03)


def test_an_interval_is_called_narrow_from_fewer_than_five_cases_only() -> None:
    values = [0.1, 0.5, 0.4, 0.9, 0.7]
    assert [estimate(values[:cases]).narrow for cases in (2, 3, 4, 5)] == [True, True, True, False]


def test_the_interval_of_a_column_does_not_depend_on_the_others() -> None:
    drawn = np.random.default_rng(8).random((3, 12)).tolist()
    alone = estimate_columns({"a": drawn[0]}).columns["a"]
    assert estimate_columns(dict(zip("abc", drawn, strict=True))).columns["a"] == alone


def test_epochs_of_one_case_are_no_independent_cases() -> None:
    values, cases = [0.1, 1.0, 0.5, 0.9], ["a", "b", "c", "d"]
    once, thrice = estimate(values), estimate(values * 3, cases * 3)
    assert thrice.n == 12 and thrice.mean == once.mean
    assert thrice.se == pytest.approx(once.se) and thrice.ci95 == pytest.approx(once.ci95)
    assert (estimate(values * 3).se or 0) < (once.se or 0)


def test_cases_that_differ_in_their_epochs_alone_have_no_interval_from_a_bootstrap() -> None:
    turns, cases = [5.0, 8.0] * 3, ["a", "a", "b", "b", "c", "c"]
    assert estimate(turns, cases) == Estimate(mean=6.5, se=0.0, n=6)
    low, high = estimate(turns, cases, ends=(0.0, 10.0)).ci95 or (6.5, 6.5)
    assert 0 < low < 5 and 8 < high < 10


def test_epochs_of_a_single_case_have_no_spread() -> None:
    assert estimate([0.0, 1.0], ["a", "a"]) == Estimate(mean=0.5, se=None, ci95=None, n=2)


def test_a_value_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="finite number: nan"):
        estimate([0.1, math.nan])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        estimate([0.1, 0.2], ["a"])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        estimate([0.1, 0.2, 0.3], ["a", "a"])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(SCORES, st.sampled_from("abcde")), max_size=12), st.randoms())
def test_an_estimate_is_in_range_and_ignores_the_order_of_its_input(
    pairs: list[tuple[float, str]], random: Random
) -> None:
    result = estimate([value for value, _ in pairs], [case for _, case in pairs])
    random.shuffle(pairs)
    assert estimate([value for value, _ in pairs], [case for _, case in pairs]) == result
    assert result.n == len(pairs) and (result.mean is None or 0 <= result.mean <= 1)
    if result.ci95 is not None and result.se is not None:
        assert result.se >= 0 and -1e-9 <= result.ci95[0] <= result.ci95[1] <= 1 + 1e-9


def test_the_average_of_columns_is_the_mean_of_their_means_whatever_their_sizes() -> None:
    columns, average = estimate_columns({"a": [1.0, 0.0, 1.0, 1.0], "b": [None, None, 0.25, None], "c": [None] * 4})
    assert average.mean == pytest.approx((0.75 + 0.25) / 2) and average.n == 4
    assert columns["b"] == Estimate(mean=0.25, n=1) and columns["c"] == Estimate(n=0)


def test_the_interval_of_an_average_holds_its_mean_where_a_case_lacks_a_column() -> None:
    columns = {"a": [0.17, 0.0], "b": [1.0, None], "c": [0.0, 1.0], "d": [0.5, 0.5], "e": [0.0, 0.0]}
    found = estimate_columns(columns, None, dict.fromkeys(columns, (0.0, 1.0))).average
    assert found.mean and found.ci95 and found.ci95[0] <= found.mean <= found.ci95[1]  # each case's own mean is lower


def test_an_average_of_right_and_wrong_has_the_interval_of_its_smallest_column() -> None:
    few, many = [1.0, 0.0] * 3, [1.0, 0.0] * 30
    columns = {"few": [*few, *[None] * 60], "many": [*[None] * 6, *many]}
    found = estimate_columns(columns, None, dict.fromkeys(columns, (0.0, 1.0)))
    # Variances of 1/4 * 1/6 and 1/4 * 1/60, each over four: as of 21.8 values, not of all 66.
    theirs = proportion(0.5, 1 / (0.25 / 6 + 0.25 / 60))
    assert found.average.interval == "wilson" and found.average.ci95 == pytest.approx(theirs)


def proportion(share: float, values: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many values."""
    square = 1.959963984540054**2 / values
    reach = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return (share + square / 2) / (1 + square) - reach, (share + square / 2) / (1 + square) + reach


def test_the_average_of_complete_columns_has_the_error_of_the_cases_own_averages() -> None:
    rows = np.random.default_rng(3).random((30, 3))
    average = estimate_columns(dict(zip("abc", rows.T.tolist(), strict=True))).average
    assert average.se == pytest.approx(rows.mean(axis=1).std(ddof=1) / math.sqrt(30))
    assert average.ci95 == pytest.approx(estimate(rows.mean(axis=1).tolist()).ci95, abs=0.01)


@pytest.mark.slow
def test_twelve_thousand_cases_take_seconds() -> None:
    rows = np.random.default_rng(4).random((6, 12_163)).tolist()
    start = time.process_time()
    estimate_columns({str(place): column for place, column in enumerate(rows)})
    assert time.process_time() - start < 15
