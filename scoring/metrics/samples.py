"""Values of metrics, each with the case it belongs to: what suites compute before anything is averaged."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from scoring.metrics.statistics import Ends, Estimate, estimate

Definition = Literal["sound", "paper"]


class MissingBackendError(RuntimeError):
    """A metric that needs a package or a model which is not there; says what would mend it."""


class Sample(NamedTuple):
    """One scored value, and the case it was scored on."""

    case: str
    value: float


Samples = Mapping[str, Sequence[Sample]]


PERCENT: Ends = (0.0, 100.0)
EPOCH = "/epoch"  # before the number of a later epoch, in the id of a run's consultation


def estimates(
    samples: Samples, *, clustered: bool, ends: Ends | None = None, neither: Collection[str] = ()
) -> dict[str, Estimate]:
    """The mean of each metric over all its values, see :func:`scoring.metrics.statistics.estimate`.

    Args:
        samples: the values by metric; what is unscored is absent.
        clustered: whether the values of one case (its turns, its epochs) vary together. The published standard errors
            take every value for independent.
        ends: the least and the most that a value can be.
        neither: the metrics without such ends.
    """
    return {
        name: estimate(
            (sample.value for sample in values),
            [sample.case.partition(EPOCH)[0] for sample in values] if clustered else None,
            ends=None if name in neither else ends,
        )
        for name, values in samples.items()
    }


def over_cases(values: Iterable[tuple[str, float | None]], ends: Ends | None = None) -> Estimate:
    """The mean of values that stand beside their cases, which are what varies; a value that is None is unscored."""
    known = [(case, value) for case, value in values if value is not None]
    return estimate([value for _, value in known], [case for case, _ in known], ends=ends)


def by_case(values: Iterable[Sample]) -> dict[str, list[float]]:
    """Each case's values."""
    found: dict[str, list[float]] = {}
    for case, value in values:
        found.setdefault(case, []).append(value)
    return found


def case_means(values: Iterable[Sample]) -> dict[str, float]:
    """The mean of each case's values."""
    return {case: sum(found) / len(found) for case, found in by_case(values).items()}


def mean(values: Sequence[float]) -> float | None:
    """The mean, or None of nothing."""
    return sum(values) / len(values) if values else None
