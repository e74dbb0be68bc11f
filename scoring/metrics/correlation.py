"""Spearman's rank correlation of two metrics, or of a metric and people's scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from scoring.metrics.comparison import permuted_p
from scoring.metrics.statistics import NORMAL

Key = TypeVar("Key")
_PERMUTED = 100  # number of pairs up to which the p of a correlation is permuted


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
    """Return Spearman's correlation of paired values; undefined under three pairs, or if one side is constant.

    p: the share of orders of one side that correlate as strongly: of all orders up to seven pairs, of 10,000 random
    ones with a fixed seed up to 100 pairs, by Student's t beyond. Interval, from four pairs on: Fisher's transformation
    with the variance ``(1 + rho^2 / 2) / (n - 3)`` (Bonett and Wright 2000); for a perfect order, that of the nearest
    imperfect one, extended to the end of the scale.
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
        p = permuted_p(one, lambda values, axis: np.abs(np.sum(values * other, axis=axis)), "pairings")
    return Correlation(rho, p, n, _interval(rho, n))


def _interval(rho: float, n: int) -> tuple[float, float] | None:
    if n < 4:
        return None
    most = 1 - 12 / (n * (n * n - 1))  # after two neighbours are exchanged
    inner = max(-most, min(most, rho))
    reach = NORMAL * math.sqrt((1 + inner * inner / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inner) + side * reach) for side in (-1, 1))
    is_perfect = abs(rho) - most > 1e-12  # beyond rounding
    return (-1.0 if is_perfect and rho < 0 else low, 1.0 if is_perfect and rho > 0 else high)


def spearman_over(one: Mapping[Key, float], other: Mapping[Key, float]) -> Correlation:
    """Return the correlation of two columns over the cases that both have."""
    return spearman([(one[key], other[key]) for key in one if key in other])


def spearman_matrix(columns: Mapping[str, Mapping[Key, float]]) -> dict[tuple[str, str], Correlation]:
    """Return the correlation of every two columns over the cases (or other keys) that both have (AIE, figure 5)."""
    return {
        (one, other): spearman_over(left, right) for (one, left), (other, right) in combinations(columns.items(), 2)
    }
