"""Means with standard errors and 95 % intervals, clustered by case over epochs."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from cases.grouping import grouped
from cases.strict import Strict

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float64]]

RESAMPLES = 10_000
SEED = 20_240_607
Ends = tuple[float, float]  # the minimum and maximum of a score
Interval = Literal["wilson", "bca", "t", "percentile", "matched"]
INTERVALS: Mapping[Interval, str] = {
    "wilson": "Wilson (all scores are right or wrong, or all are equal)",
    "bca": "BCa bootstrap over cases",
    "t": "Student's t over cases",
    "percentile": "percentile bootstrap over cases",
    "matched": "Agresti and Min (each case is right or wrong)",
}
NORMAL = 1.959963984540054  # the 97.5 % quantile
_MAX_DRAWN = 1 << 22  # random numbers held in memory at a time
_BINARY = frozenset({(0.0, 1.0), (0.0, 100.0)})  # right and wrong, if the scale is unknown
_LARGE_SAMPLE = 500  # cases from which the mean is normal enough for Student's t
FEW_CASES = 5  # with fewer, a bootstrapped interval covers the truth too rarely (docs/statistics.md)
_MAX_LEVEL = 0.999  # largest expanded level; beyond it, 10,000 resamples do not suffice


class Estimate(Strict):
    """A mean and its uncertainty; None where unknown: all of it without values, the spread for a single case."""

    mean: float | None = None
    se: float | None = Field(default=None, description="Standard error (ddof = 1), clustered by case.")
    ci95: tuple[float, float] | None = Field(default=None, description="95 % interval over cases.")
    n: int = Field(ge=0, description="Number of scored values.")
    interval: Interval | None = Field(default=None, exclude=True, description="How ci95 was computed.")
    narrow: bool = Field(
        default=False, exclude=True, description="Whether ci95 is bootstrapped from fewer than `FEW_CASES`."
    )


class ColumnEstimates(NamedTuple):
    """The estimates of several scores of the same cases, and of the unweighted mean of their means."""

    columns: dict[str, Estimate]
    average: Estimate


def estimate(
    values: Iterable[float],
    clusters: Iterable[Hashable] | None = None,
    *,
    ends: Ends | None = None,
    published: bool = False,
    differences: bool = False,
) -> Estimate:
    """Estimate the mean of one score.

    Mean: over all values. Standard error: ``sqrt(G / (G - 1) * sum over cases of (sum of residuals)^2) / n`` with G
    cases, which is ``sd / sqrt(n)`` (ddof = 1) if every case has one value.

    Interval: for binary values, Wilson's; if cases have several values, with their number divided by the design effect
    and Student's quantile. Otherwise the BCa bootstrap of whole cases, 10,000 resamples with a fixed seed, at the level
    of Student's t for so few cases (Hesterberg 2015, "expanded"); from 500 cases on, Student's t. Neither goes beyond
    the observed values. If all cases have the same mean, a bootstrap is not informative: the share of cases that could
    differ has Wilson's bound ``q``, so that the mean lies between ``v - q (v - least)`` and ``v + q (most - v)``; None
    if the ends are unknown. The order of the values does not matter.

    Args:
        values: one score each, without unscored ones.
        clusters: the case of each value, if cases have several; None if each value is a case of its own.
        ends: the minimum and maximum of the score, if known.
        published: use the percentile bootstrap, as papers do.
        differences: the values are differences of scores, of which 0 and 1 are not wrong and right.

    Raises:
        ValueError: a value is not finite, or there is not one cluster for each value.
    """
    scored = list(values)
    cases: list[Hashable] = list(range(len(scored))) if clusters is None else list(clusters)
    if not scored:
        return Estimate(n=0)
    found = _Scored(fmean(scored), _pulls(scored, cases), scored, (min(scored), max(scored)), ends)
    return _estimate(found, published=published, differences=differences)


def estimate_columns(
    columns: Mapping[str, Sequence[float | None]],
    clusters: Iterable[Hashable] | None = None,
    ends: Mapping[str, Ends | None] | None = None,
) -> ColumnEstimates:
    """Estimate the means of several scores of the same cases, and the unweighted mean of these means.

    Each column is estimated independently (:func:`estimate`). The average ignores columns without a scored case; its
    ``n`` is the number of rows with a score, and its error and interval are those of the sum of each case's
    contributions to the columns' means.

    Args:
        columns: the scores by name, one row per case (and epoch); None is unscored.
        clusters: the case of each row; None if each row is a case of its own.
        ends: the minimum and maximum of a column, if known.

    Raises:
        ValueError: a value is not finite, or columns and clusters differ in length.
    """
    rows = list(zip(*columns.values(), strict=True))
    cases: list[Hashable] = list(range(len(rows))) if clusters is None else list(clusters)
    scored = {name: [value for value in column if value is not None] for name, column in columns.items()}
    of_cases = {
        name: [case for value, case in zip(column, cases, strict=True) if value is not None]
        for name, column in columns.items()
    }
    limits = ends or {}
    found = {name: estimate(values, of_cases[name], ends=limits.get(name)) for name, values in scored.items()}
    present = [name for name, values in scored.items() if values]
    if not present:
        return ColumnEstimates(found, Estimate(n=0))
    added = grouped(pull for name in present for pull in _pulls(scored[name], of_cases[name]).items())
    mean = math.fsum(found[name].mean or 0.0 for name in present) / len(present)
    pulls = {case: math.fsum(parts) / len(present) for case, parts in added.items()}
    own = [fmean(values) for row in rows if (values := [value for value in row if value is not None])]
    common = {limits.get(name) for name in present}
    # A row without some columns may be outside the range of the mean of means; the columns' observed ranges bound that.
    seen = [scored[name] for name in present]
    within = (fmean([min(values) for values in seen]), fmean([max(values) for values in seen]))
    if all(len(values) == len(own) for values in seen):
        within = (min(own), max(own))
    average = _estimate(_Scored(mean, pulls, own, within, common.pop() if len(common) == 1 else None))
    return ColumnEstimates(found, average)


def _pulls(values: Sequence[float], cases: Sequence[Hashable]) -> dict[Hashable, float]:
    """Return each case's pull on the mean of all values: the sum of its residuals over the number of values."""
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"a score must be a finite number: {next(v for v in values if not math.isfinite(v))}")
    mean = fmean(values)
    if len(set(cases)) == len(cases):
        return {case: (value - mean) / len(values) for value, case in zip(values, cases, strict=True)}
    residuals = grouped((case, value - mean) for value, case in zip(values, cases, strict=True))
    return {case: math.fsum(found) / len(values) for case, found in residuals.items()}


class _Scored(NamedTuple):
    """What an estimate is made of."""

    mean: float
    pulls: Mapping[Hashable, float]  # of each case on the mean
    values: Sequence[float]
    observed: Ends  # between which a mean of such values lies
    ends: Ends | None  # of the scale, if known

    @property
    def squares(self) -> float:
        """The sum of the squared pulls."""
        return math.fsum(pull * pull for pull in self.pulls.values())


def _estimate(scored: _Scored, *, published: bool = False, differences: bool = False) -> Estimate:
    cases, n = len(scored.pulls), len(scored.values)
    if cases == 1:
        return Estimate(mean=scored.mean, n=n)
    se = math.sqrt(cases / (cases - 1) * scored.squares)
    how, ci95 = _interval(scored, published, differences)
    narrow = how == "bca" and cases < FEW_CASES
    return Estimate(mean=scored.mean, se=se, ci95=ci95, n=n, interval=how if ci95 else None, narrow=narrow)


def _interval(scored: _Scored, published: bool, differences: bool) -> tuple[Interval, Ends | None]:
    mean, pulls, values, observed, ends = scored
    cases = len(pulls)
    if published:
        return "percentile", _bootstrapped(mean, pulls, "percentile", 0.95)
    right_or_wrong = ends or (observed if observed in _BINARY and not differences else None)
    if right_or_wrong and set(values) <= set(right_or_wrong):
        return "wilson", _wilson(mean, pulls, len(values), right_or_wrong)
    if len(values) * max(map(abs, pulls.values())) <= 1e-9 * max(1.0, abs(mean)):
        if ends is None:
            return "wilson", None
        differing = _wilson(0.0, dict.fromkeys(pulls, 0.0), cases, (0.0, 1.0))[1]
        return "wilson", (mean - differing * (mean - ends[0]), mean + differing * (ends[1] - mean))
    quantile = _student(cases)
    if cases >= _LARGE_SAMPLE:
        reach = quantile * math.sqrt(cases / (cases - 1) * scored.squares)
        return "t", (max(mean - reach, observed[0]), min(mean + reach, observed[1]))
    expanded = math.erf(quantile * math.sqrt(cases / (cases - 1)) / math.sqrt(2))
    low, high = _bootstrapped(mean, pulls, "BCa", min(expanded, _MAX_LEVEL))
    return "bca", (max(low, observed[0]), min(high, observed[1]))


def _wilson(mean: float, pulls: Mapping[Hashable, float], n: int, ends: Ends) -> Ends:
    """Return Wilson's interval of a share of right answers, on the scale of the scores."""
    least, width = ends[0], ends[1] - ends[0]
    share, variance = (mean - least) / width, math.fsum((pull / width) ** 2 for pull in pulls.values())
    independent = len(pulls) == n
    # The number of independent values with this variance (fewer than all in an average of columns that lack cases);
    # the number of cases, if all values are equal.
    effective = min(share * (1 - share) / variance, n) if variance else len(pulls)
    square = (NORMAL if independent else _student(len(pulls))) ** 2 / effective
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # Where all are wrong or right, the interval begins or ends there exactly, which rounding misses.
    low = 0.0 if share == 0 else max(0.0, middle - reach)
    high = 1.0 if share == 1 else min(1.0, middle + reach)
    return least + width * low, least + width * high


def _student(cases: int) -> float:
    from scipy.special import stdtrit  # as scipy.stats.t.ppf uses it, but without loading all distributions

    return float(stdtrit(cases - 1, 0.975))


def _bootstrapped(
    mean: float, pulls: Mapping[Hashable, float], method: Literal["BCa", "percentile"], level: float
) -> Ends:
    """Bootstrap the mean over whole cases; their pulls are sorted, so that the order of cases does not matter."""
    import numpy as np
    from scipy.stats import bootstrap

    each: Vector = mean + len(pulls) * np.sort(np.fromiter(pulls.values(), float))
    found = bootstrap(
        (each,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _MAX_DRAWN // len(each)),
        confidence_level=level,
        method=method,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)
