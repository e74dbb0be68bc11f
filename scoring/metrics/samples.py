"""Values of metrics, each with the case it belongs to: what suites compute before anything is averaged."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from scoring.metrics.statistics import Estimate, estimate

Definition = Literal["sound", "paper"]


class MissingBackendError(RuntimeError):
    """A metric that needs a package or a model which is not there; says what would mend it."""


class Sample(NamedTuple):
    """One scored value, and the case it was scored on."""

    case: str
    value: float


Samples = Mapping[str, Sequence[Sample]]


def estimates(samples: Samples, *, clustered: bool) -> dict[str, Estimate]:
    """The mean of each metric over all its values, see :func:`scoring.metrics.statistics.estimate`.

    Args:
        samples: the values by metric; what is unscored is absent.
        clustered: whether the values of one case (its turns, its epochs) vary together. The published standard errors
            take every value for independent.
    """
    return {
        name: estimate((sample.value for sample in values), [sample.case for sample in values] if clustered else None)
        for name, values in samples.items()
    }


def case_means(values: Iterable[Sample]) -> dict[str, float]:
    """The mean of each case's values."""
    by_case: dict[str, list[float]] = {}
    for case, value in values:
        by_case.setdefault(case, []).append(value)
    return {case: sum(found) / len(found) for case, found in by_case.items()}


def mean(values: Sequence[float]) -> float | None:
    """The mean, or None of nothing."""
    return sum(values) / len(values) if values else None
