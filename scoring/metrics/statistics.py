"""Means with their uncertainty: bootstrap intervals and standard errors, clustered by case over epochs."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from cases.strict import Strict

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
    Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]

RESAMPLES = 10_000
SEED = 20_240_607
_AT_ONCE = 1 << 22  # drawn numbers held in memory at a time


class Estimate(Strict):
    """A mean and how sure it is. What cannot be known is None: all of it from nothing, the spread from one case."""

    mean: float | None = None
    se: float | None = Field(None, description="Standard error (ddof = 1), clustered by case.")
    ci95: tuple[float, float] | None = Field(None, description="Percentile bootstrap over cases, 10,000 resamples.")
    n: int = Field(ge=0, description="Number of scored values.")


class ColumnEstimates(NamedTuple):
    """The estimates of several scores of the same cases, and of the unweighted mean of their means."""

    columns: dict[str, Estimate]
    average: Estimate


def estimate(values: Iterable[float], clusters: Iterable[Hashable] | None = None) -> Estimate:
    """Estimate the mean of one score.

    Mean: over all values. Standard error: ``sqrt(G / (G - 1) * sum over cases of (sum of residuals)^2) / n`` with G
    cases, which is ``sd / sqrt(n)`` (ddof = 1) if every case has one value. Interval: 2.5 and 97.5 percentiles of the
    means of 10,000 resamples of whole cases, with a fixed seed. The order of the values does not matter.

    Args:
        values: one score each; what is unscored is left out by the caller.
        clusters: the case that each value belongs to, when cases ran in several epochs; None: a case each.

    Raises:
        ValueError: a value is not finite, or there is not one cluster for each value.
    """
    return estimate_columns({"score": list(values)}, clusters).columns["score"]


def estimate_columns(
    columns: Mapping[str, Sequence[float | None]], clusters: Iterable[Hashable] | None = None
) -> ColumnEstimates:
    """Estimate the means of several scores of the same cases, and the unweighted mean of these means.

    The average ignores columns without a scored case; its ``n`` is the number of rows with a score. All intervals come
    from the same resamples of whole cases, with every column's mean taken anew in each; a resample that has no value
    of a column leaves it out.

    Args:
        columns: the scores by name, one row a case (and epoch); None is unscored.
        clusters: the case of each row; None: a case each.

    Raises:
        ValueError: a value is not finite, or the columns and clusters are not of one length.
    """
    rows = list(zip(*columns.values(), strict=True))
    cases = list(range(len(rows))) if clusters is None else list(clusters)
    totals, counts = _by_case(rows, cases)
    scored = [sum(count[place] for count in counts) for place in range(len(columns))]
    n_average = sum(any(value is not None for value in row) for row in rows)
    if not n_average:
        nothing = Estimate(n=0)
        return ColumnEstimates(dict.fromkeys(columns, nothing), nothing)

    import numpy as np

    totals_, counts_ = np.asarray(totals, float), np.asarray(counts, float)
    present = np.asarray(scored) > 0
    means = np.array([_mean(column) for column in columns.values()])
    # Every case's pull on a column's mean: the linear part of sum(totals) / sum(counts).
    pulls = np.where(present, totals_ - means * counts_, 0.0) / np.maximum(scored, 1)
    resampled = _resampled_means(totals_, counts_)
    estimates = {
        name: _estimate(float(means[place]), pulls[counts_[:, place] > 0, place], resampled[:, place], scored[place])
        for place, name in enumerate(columns)
    }
    known = resampled[:, present]
    average = _estimate(
        math.fsum(means[present]) / int(present.sum()),
        pulls[(counts_ > 0).any(axis=1)].sum(axis=1) / int(present.sum()),
        np.where(np.isnan(known), 0.0, known).sum(axis=1) / np.maximum((~np.isnan(known)).sum(axis=1), 1),
        n_average,
    )
    return ColumnEstimates(estimates, average)


def _by_case(
    rows: Sequence[tuple[float | None, ...]], cases: Sequence[Hashable]
) -> tuple[list[tuple[float, ...]], list[tuple[int, ...]]]:
    """Totals and counts of each case's columns, sorted, so that the order of the input is forgotten."""
    grouped: dict[Hashable, list[tuple[float | None, ...]]] = {}
    for row, case in zip(rows, cases, strict=True):
        if not all(value is None or math.isfinite(value) for value in row):
            raise ValueError(f"a score must be a finite number: {row}")
        grouped.setdefault(case, []).append(row)
    summed = sorted(
        (
            tuple(math.fsum(value for value in column if value is not None) for column in zip(*group, strict=True)),
            tuple(sum(value is not None for value in column) for column in zip(*group, strict=True)),
        )
        for group in grouped.values()
    )
    return [totals for totals, _ in summed], [counts for _, counts in summed]


def _mean(values: Sequence[float | None]) -> float:
    scored = [value for value in values if value is not None]
    return math.fsum(scored) / len(scored) if scored else math.nan


def _resampled_means(totals: "Matrix", counts: "Matrix") -> "Matrix":
    """The columns' means in each resample of cases (resamples x columns); NaN where a resample has no value."""
    import numpy as np

    cases, columns = totals.shape
    generator = np.random.default_rng(SEED)
    both = np.hstack([totals, counts])
    means = np.empty((RESAMPLES, columns))
    step = max(1, min(RESAMPLES, _AT_ONCE // cases))
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        drawn = generator.integers(0, cases, (size, cases), dtype=np.int32)
        drawn += np.arange(size, dtype=np.int32)[:, None] * cases
        weights = np.bincount(drawn.ravel(), minlength=size * cases).reshape(size, cases)
        summed = weights.astype(float) @ both
        with np.errstate(invalid="ignore"):
            means[start : start + size] = summed[:, :columns] / summed[:, columns:]
    return means


def _estimate(mean: float, pulls: "Vector", resampled: "Vector", n: int) -> Estimate:
    import numpy as np

    cases = len(pulls)
    if cases == 0:
        return Estimate(n=0)
    if cases == 1:
        return Estimate(mean=mean, n=n)
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    se = math.sqrt(cases / (cases - 1) * math.fsum(np.square(pulls)))
    return Estimate(mean=mean, se=se, ci95=(float(low), float(high)), n=n)
