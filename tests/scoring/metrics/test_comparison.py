import itertools
from random import Random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.metrics.comparison import (
    equivalence_p,
    false_discovery,
    holm,
    needed_cases,
    paired_difference,
    permutation_p,
    wilcoxon_p,
)

TRIALS = 150


def exact_permutation_p(differences: list[float]) -> float:
    """Every subset of signs turned, by hand."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(value >= observed * (1 - 1e-12) for value in sums) / len(sums)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=8), st.randoms())
def test_the_permutation_test_is_exact_for_few_cases_in_any_order(differences: list[float], random: Random) -> None:
    found = permutation_p(differences)
    assert found == pytest.approx(exact_permutation_p(differences))
    random.shuffle(differences)
    assert permutation_p(differences) == found


def test_the_permutation_test_counts_equal_sums_of_thirds_and_sixths_as_equal() -> None:
    """Rounded to nine digits, 1/6 + 1/6 is more than 1/3: one sum in two as far from 0 as observed was left out."""
    scores = [(1 / 2, 1 / 3), (2 / 3, 1 / 2), (1 / 3, 2 / 3), (1.0, 1 / 2)]
    one, other = ({str(case): [pair[run]] for case, pair in enumerate(scores)} for run in (0, 1))
    assert paired_difference(one, other).permutation_p == pytest.approx(exact_permutation_p([1, 1, -2, 3]))


def test_the_permutation_test_of_many_cases_is_reproducible() -> None:
    draw = Random(1)
    differences = [draw.gauss(0.3, 1) for _ in range(60)]
    assert permutation_p(differences) == permutation_p(differences[::-1])
    assert permutation_p(differences) == pytest.approx(scipy.stats.ttest_1samp(differences, 0).pvalue, abs=0.03)


def test_a_difference_is_paired_by_case_and_epochs_count_once() -> None:
    one = {"a": [1.0, 3.0], "b": [4.0], "c": [5.0], "only": [9.0]}
    other = {"a": [1.0], "b": [2.0, 2.0, 2.0], "c": [2.0], "empty": []}
    found = paired_difference(one, other)
    assert found.difference.n == 3 and found.difference.mean == pytest.approx(2)
    assert found.permutation_p == pytest.approx(0.25)
    turned = paired_difference(other, one)
    assert turned.difference.mean == pytest.approx(-2) and turned.permutation_p == found.permutation_p


def test_a_gain_in_percent_is_over_the_mean_of_the_same_cases_and_there_is_none_over_nothing() -> None:
    other = {"a": [1.0, 3.0], "b": [4.0], "only": [100.0]}
    found = paired_difference({"a": [4.0], "b": [5.0]}, other)
    assert (found.difference.mean, found.percent) == (1.5, pytest.approx(50))
    assert paired_difference({"a": [0.7, 0.1]}, {"a": [0.4]}).percent == 0, "as there is no difference"
    assert paired_difference({"a": [1.0]}, {"a": [0.0]}).percent is None
    assert paired_difference({}, other).percent is None


def test_a_mean_difference_and_its_percent_do_not_show_that_the_differences_were_rounded() -> None:
    ours = {str(place): [value] for place, value in enumerate([1 / 3, 1 / 3, 1 / 3, 0.5] * 5)}
    theirs = {str(place): [value] for place, value in enumerate([0.0, 1.0, 0.0, 1.0] * 5)}
    found = paired_difference(ours, theirs)
    assert (found.difference.mean, found.percent) == (-0.125, -25.0)
    assert paired_difference(theirs, ours).difference.mean == 0.125


def test_equal_runs_do_not_differ() -> None:
    same = {"a": [1.0], "b": [2.0]}
    found = paired_difference(same, same)
    assert found.difference.mean == 0 and found.permutation_p == 1 and found.wilcoxon_p is None
    assert paired_difference(same, {}).difference.n == 0


@pytest.mark.parametrize("right", [1.0, 100.0])
def test_one_case_that_differs_is_no_difference_and_many_are_one(right: float) -> None:
    other = {str(case): [0.0] for case in range(16)}
    found = paired_difference(other | {"0": [right]}, other)
    low, high = found.difference.ci95 or (0, 0)
    assert found.permutation_p == 1 and (low / right, high / right) == pytest.approx((-0.0963, 0.2074), abs=1e-4)
    many = paired_difference({case: [right] for case in other}, other).difference
    assert many.ci95 is not None and 0 < many.ci95[0] < many.ci95[1] <= right
    single = paired_difference({"0": [right]}, {"0": [0.0]})
    assert (single.difference.ci95, single.permutation_p) == (None, None), "a single case has no spread"


@pytest.mark.parametrize("differences", [
    [1.0, 2.0, -0.5, 3.0, 0.0, 4.0], [3.0], [1.0, -2.0], [0.0, 0.0, 1.0], [2.0] * 6, [1.0, -1.0, 1.0, 0.0, 0.0],
    *([(-1) ** (n // 3) * (n + 0.5) for n in range(cases)] for cases in (8, 12, 13, 14, 60)),
])  # fmt: skip
def test_wilcoxon_is_that_of_scipy(differences: list[float]) -> None:
    assert wilcoxon_p(differences) == pytest.approx(scipy.stats.wilcoxon(differences, zero_method="pratt").pvalue)
    assert wilcoxon_p([]) is None


@pytest.mark.parametrize(("differing", "p"), [(2, 0.5), (3, 0.25), (4, 0.125), (5, 0.0625), (6, 0.03125)])
def test_a_few_that_differ_among_many_equal_cases_are_tested_exactly(differing: int, p: float) -> None:
    differences = [1.0] * differing + [0.0] * 40
    assert permutation_p(differences) == pytest.approx(p) and wilcoxon_p(differences) == pytest.approx(p)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=8).filter(any), st.integers(0, 40))
def test_equal_cases_never_change_the_permutation_test(differences: list[float], equal: int) -> None:
    assert permutation_p(differences + [0.0] * equal) == pytest.approx(exact_permutation_p(differences))


def test_holm_by_hand() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "none": None}) == pytest.approx(
        {"a": 0.03, "c": 0.06, "b": 0.06, "none": None}
    )
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1, "b": 1}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=6))
def test_holm_never_lowers_a_p_and_keeps_their_order(p_values: dict[str, float]) -> None:
    corrected = holm(dict(p_values))
    for one, p in p_values.items():
        value = corrected[one]
        assert value is not None and min(p, 1) <= value <= 1
        assert all((corrected[other] or 0) >= value for other in p_values if p_values[other] > p)


def test_the_permutation_test_keeps_its_level() -> None:
    generator = np.random.default_rng(3)
    drawn = generator.choice([-1, 1], (TRIALS, 8)) * generator.beta(1, 4, (TRIALS, 8))
    rejected = sum((permutation_p(differences) or 1) <= 0.05 for differences in drawn.tolist())
    assert 0.01 < rejected / TRIALS <= 0.09


def test_the_test_of_equivalence_is_two_t_tests_and_unknown_without_variation() -> None:
    differences = [0.02, -0.01, 0.03, 0.0, 0.05]
    above = scipy.stats.ttest_1samp(differences, -0.1, alternative="greater").pvalue
    below = scipy.stats.ttest_1samp(differences, 0.1, alternative="less").pvalue
    assert equivalence_p(differences, 0.1) == max(above, below)
    assert equivalence_p([0.0, 0.1], 1.0) is not None and equivalence_p([0.0, 0.0], 0.1) is None


@pytest.mark.slow
def test_the_test_of_equivalence_keeps_its_level_at_the_margin_and_finds_what_is_the_same() -> None:
    generator = np.random.default_rng(4)
    found = {
        mean: sum(
            (equivalence_p(drawn, 0.1) or 1) <= 0.05 for drawn in generator.normal(mean, 0.1, (TRIALS, 20)).tolist()
        )
        for mean in (0.1, -0.1, 0.0)
    }
    assert found[0.1] <= 15 and found[-0.1] <= 15 and found[0.0] >= 130


def test_so_many_cases_as_are_needed_show_the_difference_in_eight_of_ten_studies() -> None:
    generator = np.random.default_rng(5)
    seen = generator.normal(0, 1, 200)
    needed = needed_cases(((seen - seen.mean()) / seen.std(ddof=1) + 0.5).tolist())
    assert needed == 34
    p_values = scipy.stats.ttest_1samp(generator.normal(0.5, 1, (2000, needed)), 0, axis=1).pvalue
    assert 0.77 <= np.mean(p_values <= 0.05) <= 0.84
    assert needed_cases([0.0, 0.0]) is None and needed_cases([1.0, 1.0]) == 6


def test_rounding_of_floats_is_no_difference() -> None:
    found = paired_difference({str(n): [0.7, 0.1] for n in range(8)}, {str(n): [0.4, 0.4] for n in range(8)})
    assert found.difference.mean == 0 and found.permutation_p == 1 and found.wilcoxon_p is None


@pytest.mark.parametrize(("worst", "interval"), [(0.0, "matched"), (2.0, "bca")])
def test_grades_and_counts_that_differ_by_one_are_not_taken_for_right_and_wrong(worst: float, interval: str) -> None:
    one, other = ({str(n): [worst + (n < right)] for n in range(10)} for right in (7, 3))
    found = paired_difference(one, other).difference
    assert (found.mean, found.interval) == (pytest.approx(0.4), interval)


def test_an_interval_that_ends_at_zero_ends_at_zero() -> None:
    other = {str(n): [0.0] for n in range(6)}
    found = paired_difference(other | {"0": [-1 / 6], "1": [-1 / 6]}, other).difference
    assert found.ci95 == (pytest.approx(-1 / 6, abs=1e-8), 0.0)


def test_false_discovery_is_that_of_benjamini_and_hochberg() -> None:
    assert false_discovery({"a": 0.01, "b": 0.04, "c": 0.03, "none": None}) == pytest.approx(
        {"a": 0.03, "b": 0.04, "c": 0.04, "none": None}
    )
    assert false_discovery({}) == {} and false_discovery({"none": None}) == {"none": None}
