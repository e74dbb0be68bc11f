"""Two runs on the same cases, and metrics among themselves and beside people: tests, corrections, correlations."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import Field

from cases import Problem
from cases.strict import Strict
from scoring.metrics.statistics import NORMAL, RESAMPLES, SEED, Estimate, estimate
from scoring.records import read_sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from scoring.metrics.statistics import Vector

Name = TypeVar("Name", bound=Hashable)
Scores = Mapping[str, Sequence[float]]  # the values of each case, one an epoch
_PERMUTED = 100  # pairs up to which the p of a correlation is permuted


class PairedDifference(Strict):
    """One run's metric minus the other's, on the cases that both have; p-values are two-sided."""

    difference: Estimate = Field(description="Mean of the cases' differences, with its interval over cases.")
    permutation_p: float | None = Field(None, description="Sign-flip permutation test of the mean; None under 2 cases.")
    wilcoxon_p: float | None = Field(None, description="Wilcoxon signed-rank test; None if no case differs.")
    needed: int | None = Field(None, description="Cases that would show such a difference; see `needed_cases`.")
    equivalence_p: float | None = Field(None, description="Whether the difference is within the margin (TOST).")


def paired_difference(one: Scores, other: Scores, *, margin: float | None = None) -> PairedDifference:
    """Compare two runs case by case.

    Each case counts once, with the difference of its epochs' means, so that the interval (over whole cases, see
    :func:`scoring.metrics.statistics.estimate`; of right and wrong answers :func:`matched_interval`) and the tests do
    not take epochs for independent cases. Cases that only one run has are left out. Differences under a billionth are
    none: epochs of 0.7 and 0.1 equal two of 0.4. ``margin`` is what difference does not matter, for the test of
    equivalence.
    """
    shared = sorted(case for case in one if case in other and one[case] and other[case])
    differences = [round(fmean(one[case]) - fmean(other[case]), 9) for case in shared]
    difference = estimate(differences)
    if len(differences) > 1 and {abs(one) for one in differences if one} in ({1.0}, {100.0}):
        difference = difference.model_copy(update={"ci95": matched_interval(differences), "interval": "matched"})
    return PairedDifference(
        difference=difference,
        permutation_p=permutation_p(differences),
        wilcoxon_p=wilcoxon_p(differences),
        needed=needed_cases(differences),
        equivalence_p=None if margin is None else equivalence_p(differences, margin),
    )


def matched_interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean of differences of right and wrong answers: one step up, one down, or none.

    Half a case is added to each of the four ways in which two answers can be right (Agresti and Min 2005): where a
    single case differs, the interval still holds 0, as the permutation test does.
    """
    step = max(map(abs, differences))
    up, down = (sum(sign * one > 0 for one in differences) for sign in (1, -1))
    n = len(differences) + 2
    mean = (up - down) / n
    reach = NORMAL * math.sqrt((up + down + 1) / n - mean**2) / math.sqrt(n)
    return step * max(-1.0, mean - reach), step * min(1.0, mean + reach)


def permutation_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of the sign-flip permutation test of the mean difference; None under two cases.

    The share of signs for which the mean is at least as far from 0 as it is: of all signs where there are no more than
    10,000 (13 cases), else of 10,000 random ones with a fixed seed. 1 if no case differs.
    """
    if len(differences) < 2:
        return None
    import numpy as np

    # Sorted: the random signs then do not depend on the order of the cases.
    values = np.sort(np.asarray(differences, float))
    return _permuted_p(values, lambda signed, axis: np.abs(np.mean(signed, axis=axis)), "samples")


def _permuted_p(
    values: "Vector", statistic: "Callable[[Vector, int], Vector]", kind: Literal["samples", "pairings"]
) -> float:
    """The share of permutations whose statistic is at least that seen: all, or 10,000 random ones with a fixed seed."""
    import numpy as np
    from scipy.stats import permutation_test

    found = permutation_test(
        (values,),
        statistic,
        permutation_type=kind,
        alternative="greater",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=1000,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def wilcoxon_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of Wilcoxon's signed-rank test (Pratt's way with zeros); None if no case differs.

    Of up to 13 cases SciPy tries all signs too, one after the other, in fifty times the time.
    """
    if not any(differences):
        return None
    import numpy as np
    from scipy.stats import rankdata, wilcoxon

    if not 2 <= len(differences) <= 13:
        return float(wilcoxon(differences, zero_method="pratt").pvalue)
    values = np.asarray(differences, float)
    ranks = rankdata(np.abs(values))
    return _permuted_p(values, lambda signed, axis: np.abs(np.sum(np.sign(signed) * ranks, axis=axis)), "samples")


def equivalence_p(differences: Sequence[float], margin: float) -> float | None:
    """The p of two one-sided t tests (TOST): small where the mean difference is less than ``margin`` away from 0.

    None under two cases, or if all differences are the same: nothing then tells how far they scatter.
    """
    if len(set(differences)) < 2:
        return None
    from scipy.stats import ttest_1samp

    above = ttest_1samp(differences, -margin, alternative="greater").pvalue
    below = ttest_1samp(differences, margin, alternative="less").pvalue
    return float(max(above, below))


def needed_cases(differences: Sequence[float]) -> int | None:
    """How many cases would show the difference seen: with 80 % power, two-sided, at 5 %.

    ``(1.96 + 0.84)^2 sd^2 / mean^2 + 1.96^2 / 2`` (Guenther 1981), and at least the six that a permutation test needs
    to come below 5 %. None under two cases, or if the mean difference is 0.
    """
    if len(differences) < 2 or not (mean := round(fmean(differences), 9)):
        return None
    from scipy.stats import norm

    level, power = norm.ppf(0.975), norm.ppf(0.8)
    return max(6, math.ceil(((level + power) * stdev(differences) / mean) ** 2 + level**2 / 2))


def holm(p_values: Mapping[Name, float | None]) -> dict[Name, float | None]:
    """p-values corrected for testing many at once, by Holm's step-down; what has none stays None and is not counted.

    The k-th smallest of m becomes ``min(1, max over j <= k of (m - j + 1) p_j)``.
    """
    known = sorted(((p, place, name) for place, (name, p) in enumerate(p_values.items()) if p is not None))
    corrected: dict[Name, float | None] = dict.fromkeys(p_values)
    highest = 0.0
    for rank, (p, _, name) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        corrected[name] = highest
    return corrected


def false_discovery(p_values: Mapping[Name, float | None]) -> dict[Name, float | None]:
    """The false discovery rate at which each test would be called a finding (Benjamini and Hochberg 1995)."""
    known = {name: p for name, p in p_values.items() if p is not None}
    if not known:
        return dict.fromkeys(p_values)
    from scipy.stats import false_discovery_control

    rates = dict(zip(known, false_discovery_control(list(known.values())).tolist(), strict=True))
    return {name: rates.get(name) for name in p_values}


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation in [-1, 1], its two-sided p, the number of pairs and a 95 % interval.

    None where undefined.
    """

    rho: float | None
    p: float | None
    n: int
    ci95: tuple[float, float] | None = None


def spearman(pairs: Sequence[tuple[float, float]]) -> Correlation:
    """Spearman's correlation of paired values; undefined under three pairs, or if one side does not vary.

    p: the share of the orders of one side that correlate as much: of all orders up to seven pairs, of 10,000 random
    ones with a fixed seed up to 100, by Student's t beyond. Interval, from four pairs on: Fisher's transformation with
    the variance ``(1 + rho^2 / 2) / (n - 3)`` (Bonett and Wright 2000); of a perfect order, that of the nearest
    imperfect one, up to the end.
    """
    import numpy as np
    from scipy.stats import rankdata, spearmanr

    n = len(pairs)
    left, right = (rankdata(np.round(side, 9)) for side in zip(*pairs, strict=True)) if pairs else ((), ())
    if n < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return Correlation(None, None, n)
    found = spearmanr(left, right)
    rho, p = float(found.statistic), float(found.pvalue)
    if n <= _PERMUTED:
        order = np.lexsort((right, left))
        one, other = left[order] - np.mean(left), right[order] - np.mean(right)
        p = _permuted_p(one, lambda values, axis: np.abs(np.sum(values * other, axis=axis)), "pairings")
    return Correlation(rho, p, n, _interval(rho, n))


def _interval(rho: float, n: int) -> tuple[float, float] | None:
    if n < 4:
        return None
    most = 1 - 12 / (n * (n * n - 1))  # two neighbours exchanged
    inner = max(-most, min(most, rho))
    reach = NORMAL * math.sqrt((1 + inner * inner / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inner) + side * reach) for side in (-1, 1))
    return (low if rho > -most else -1.0, high if rho < most else 1.0)


def spearman_matrix(columns: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], Correlation]:
    """The correlation between every two columns, each over the cases that both have (AIE, figure 5)."""
    names = list(columns)
    return {
        (one, other): spearman(
            [(columns[one][case], columns[other][case]) for case in columns[one] if case in columns[other]]
        )
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    }


def read_human_scores(path: str | Path) -> tuple[dict[str, dict[str, float]], list[Problem]]:
    """People's scores from a CSV file: a ``case`` column, and one column for each thing they scored.

    An empty cell is no score. A case that stands in several rows (several people) gets the mean of its scores.

    Returns:
        The score of each case by column, and the problems found; what is faulty is left out.
    """
    columns, rows, problems = read_sheet(Path(path), ("case",))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in columns if name != "case"}
    for line, row in rows:
        if not row["case"]:
            problems.append(Problem(str(path), line, "case", "expected the case that is scored"))
            continue
        for name, by_case in found.items():
            if not (cell := row[name]):
                continue
            try:
                value = float(cell)
                if not math.isfinite(value):
                    raise ValueError
            except ValueError:
                problems.append(Problem(str(path), line, name, f"expected a number, found {cell!r}"))
                continue
            by_case.setdefault(row["case"], []).append(value)
    return {
        name: {case: fmean(values) for case, values in by_case.items()} for name, by_case in found.items()
    }, problems
