"""Compare two runs on the same cases: differences with tests, and corrections for several of them."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import Field

from cases.strict import Strict
from scoring.metrics.statistics import NORMAL, RESAMPLES, SEED, Estimate, estimate

if TYPE_CHECKING:
    from scoring.metrics.statistics import Vector

Name = TypeVar("Name", bound=Hashable)
Scores = Mapping[str, Sequence[float]]  # by case, one value per epoch
_DIGITS = 9  # of differences, their mean and the ends of its interval, so that 0.7 and 0.1 equal two of 0.4
_ENUMERATED = 13  # number of differing cases up to which all signs are tried: 8,192, fewer than the random ones
_MAX_SIGNED = 1 << 22  # differences held at a time, with some 60 bytes each


class PairedDifference(Strict):
    """One run's metric minus the other's, on the cases that both have; p-values are two-sided."""

    difference: Estimate = Field(description="Mean difference over the cases, with its interval.")
    percent: float | None = Field(default=None, description="The same in percent; see `gain_in_percent`.")
    permutation_p: float | None = Field(
        default=None, description="Sign-flip permutation test of the mean; None under 2 cases."
    )
    wilcoxon_p: float | None = Field(default=None, description="Wilcoxon signed-rank test; None if no case differs.")
    needed: int | None = Field(
        default=None, description="Number of cases needed to detect such a difference; see `needed_cases`."
    )
    equivalence_p: float | None = Field(default=None, description="Whether the difference is within the margin (TOST).")


def paired_difference(one: Scores, other: Scores, *, margin: float | None = None) -> PairedDifference:
    """Compare two runs case by case.

    Each case counts once, with the difference of its means over epochs, so that the interval and the tests do not treat
    epochs as independent cases. The interval is over whole cases, see :func:`scoring.metrics.statistics.estimate`; for
    binary scores, :func:`matched_interval`. Cases in only one run are left out. Differences are rounded to nine digits,
    so that epochs of 0.7 and 0.1 equal two of 0.4. ``margin`` is the largest difference that counts as equivalent.
    """
    differences = case_differences(one, other)
    difference = estimate(differences, differences=True)
    steps = {abs(each) for each in differences if each}
    # Grades and counts, too, may differ by exactly 1.
    scores = {score for side in (one, other) for case in one.keys() & other.keys() for score in side[case]}
    if len(differences) > 1 and steps in ({1.0}, {100.0}) and scores <= {0.0, *steps}:
        difference = difference.model_copy(update={"ci95": matched_interval(differences), "interval": "matched"})
    # Else an end at 0 may lie beside it by the error of a sum, and a mean of -0.225 by those of what is rounded.
    mean, ends = difference.mean, difference.ci95
    rounded = {"mean": None if mean is None else _rounded(mean), "ci95": ends and tuple(map(_rounded, ends))}
    difference = difference.model_copy(update=rounded)
    return PairedDifference(
        difference=difference,
        percent=gain_in_percent(one, other),
        permutation_p=permutation_p(differences),
        wilcoxon_p=wilcoxon_p(differences),
        needed=needed_cases(differences),
        equivalence_p=None if margin is None else equivalence_p(differences, margin),
    )


def case_differences(one: Scores, other: Scores) -> list[float]:
    """Return the difference of the means over epochs of each case that both have, rounded to nine digits."""
    return [round(ours - theirs, _DIGITS) for ours, theirs in _case_means(one, other)]


def gain_in_percent(one: Scores, other: Scores) -> float | None:
    """Return the mean difference in percent of the other run's mean on the same cases; None if that is not above 0."""
    means = _case_means(one, other)
    base, gain = math.fsum(theirs for _, theirs in means), math.fsum(ours - theirs for ours, theirs in means)
    return _rounded(100 * gain / base) if base > 0 else None


def _rounded(number: float) -> float:
    """Return a number to nine digits; adding 0.0 makes -0.0 positive."""
    return round(number, _DIGITS) + 0.0


def _case_means(one: Scores, other: Scores) -> list[tuple[float, float]]:
    """Return both means over epochs of each case that both have, in the order of the cases' names."""
    shared = sorted(case for case in one if case in other and one[case] and other[case])
    return [(fmean(one[case]), fmean(other[case])) for case in shared]


def matched_interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference of binary scores: each case is one step up, one down, or equal.

    Half a case is added to each of the four ways in which two answers can be right (Agresti and Min 2005): if a single
    case differs, the interval still contains 0, consistent with the permutation test.
    """
    step = max(map(abs, differences))
    up, down = (sum(sign * one > 0 for one in differences) for sign in (1, -1))
    n = len(differences) + 2
    mean = (up - down) / n
    reach = NORMAL * math.sqrt((up + down + 1) / n - mean**2) / math.sqrt(n)
    return step * max(-1.0, mean - reach), step * min(1.0, mean + reach)


def permutation_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of the sign-flip permutation test of the mean difference; None under two cases.

    The share of sign assignments with a mean at least as far from 0 as observed: of all assignments if at most 13 cases
    differ, otherwise of 10,000 random ones with a fixed seed. 1 if no case differs, or only one.
    """
    if len(differences) < 2:
        return None
    import numpy as np

    # Sorted, so that the random signs do not depend on the order of the cases.
    values = np.sort(np.asarray(differences, float))
    differing = values[values != 0]  # the sign of 0 changes nothing
    if len(differing) < 2:
        return 1.0
    if len(differing) <= _ENUMERATED:
        values = differing
    return permuted_p(values, lambda signed, axis: np.abs(np.sum(signed, axis=axis)), "samples")


def p_in_direction(differences: Sequence[float], of: Sequence[float]) -> float | None:
    """Return the p of the permutation test; 1 if it lies on the other side of 0 than the mean of ``of``."""
    return 1.0 if math.fsum(differences) * math.fsum(of) < 0 else permutation_p(differences)


def permuted_p(
    values: "Vector", statistic: "Callable[[Vector, int], Vector]", kind: Literal["samples", "pairings"]
) -> float:
    """Return the share of all (or 10,000 random) permutations with a statistic at least as large as observed.

    Equal up to the rounding of the values counts as equal: with thirds and sixths in nine digits, 1/6 + 1/6 is not 1/3.
    """
    import numpy as np
    from scipy.stats import permutation_test

    least = statistic(values, -1) - len(values) * 10**-_DIGITS
    found = permutation_test(
        (values,),
        lambda permuted, axis: (statistic(permuted, axis) >= least).astype(float),
        permutation_type=kind,
        alternative="greater",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, min(1000, _MAX_SIGNED // len(values))),  # the same p with any
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def wilcoxon_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of Wilcoxon's signed-rank test (Pratt's treatment of zeros); None if no case differs.

    If at most 13 cases differ, all signs are enumerated, as in the permutation test: where most cases are equal, the
    normal approximation is far from the exact p (0.025 instead of 0.0625 if 5 of 22 cases differ, all in one
    direction). SciPy does so up to 13 cases in all, one by one, taking fifty times as long.
    """
    if not any(differences):
        return None
    import numpy as np
    from scipy.stats import rankdata, wilcoxon

    values = np.asarray(differences, float)
    differing = values != 0
    if (number := np.count_nonzero(differing)) == 1:
        return 1.0
    if number > _ENUMERATED:
        return float(wilcoxon(values, zero_method="pratt").pvalue)
    values, ranks = values[differing], rankdata(np.abs(values))[differing]
    return permuted_p(values, lambda signed, axis: np.abs(np.sum(np.sign(signed) * ranks, axis=axis)), "samples")


def equivalence_p(differences: Sequence[float], margin: float) -> float | None:
    """Return the p of two one-sided t tests (TOST): small if the mean difference is within ``margin`` of 0.

    None under two cases, or if all differences are equal, so that their variance is unknown.
    """
    if len(set(differences)) < 2:
        return None
    from scipy.stats import ttest_1samp

    above = ttest_1samp(differences, -margin, alternative="greater").pvalue
    below = ttest_1samp(differences, margin, alternative="less").pvalue
    return float(max(above, below))


def needed_cases(differences: Sequence[float]) -> int | None:
    """Return how many cases would be needed to show the observed difference: 80 % power, two-sided, at 5 %.

    ``(1.96 + 0.84)^2 sd^2 / mean^2 + 1.96^2 / 2`` (Guenther 1981), but at least the six that a permutation test needs
    for p below 5 %. None under two cases, or if the mean difference is 0.
    """
    if len(differences) < 2 or not (mean := round(fmean(differences), 9)):
        return None
    from scipy.stats import norm

    level, power = norm.ppf(0.975), norm.ppf(0.8)
    return max(6, math.ceil(((level + power) * stdev(differences) / mean) ** 2 + level**2 / 2))


def holm(p_values: Mapping[Name, float | None]) -> dict[Name, float | None]:
    """Return p-values corrected for multiple tests by Holm's step-down; None stays None and is not counted.

    The k-th smallest of m becomes ``min(1, max over j <= k of (m - j + 1) p_j)``.
    """
    known = sorted([(p, name) for name, p in p_values.items() if p is not None], key=lambda pair: pair[0])
    corrected: dict[Name, float | None] = dict.fromkeys(p_values)
    highest = 0.0
    for rank, (p, name) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        corrected[name] = highest
    return corrected


def false_discovery(p_values: Mapping[Name, float | None]) -> dict[Name, float | None]:
    """Return the false discovery rate at which each test would be significant (Benjamini and Hochberg 1995)."""
    known = {name: p for name, p in p_values.items() if p is not None}
    if not known:
        return dict.fromkeys(p_values)
    from scipy.stats import false_discovery_control

    rates = dict(zip(known, false_discovery_control(list(known.values())).tolist(), strict=True))
    return {name: rates.get(name) for name in p_values}
