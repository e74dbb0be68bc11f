"""Samples: values of a metric with their cases, as computed before averaging."""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from cases.grouping import grouped
from cases.validation import InputError
from scoring.metrics.statistics import Ends, Estimate, estimate

Definition = Literal["sound", "paper"]


class MissingBackendError(InputError):
    """A metric needs a package or a model that is missing; says how to get it."""


class Sample(NamedTuple):
    """One scored value and its case."""

    case: str
    value: float


Samples = Mapping[str, Sequence[Sample]]


PERCENT: Ends = (0.0, 100.0)
_EPOCH = re.compile(r"/epoch([0-9]+)\Z")  # in the ids of a run's consultations


def of_epoch(case: str, epoch: int) -> str:
    """Return the id of a case's consultation in an epoch; in the first, epoch 0, the case's own if it is none such."""
    return f"{case}/epoch{epoch}" if epoch or _EPOCH.search(case) else case


def case_of(consultation: str) -> str:
    """Return the case's id in the id of a consultation, see `of_epoch`."""
    return _EPOCH.sub("", consultation)


def epoch_of(consultation: str) -> int:
    """Return the epoch in the id of a consultation, see `of_epoch`; 0 if there is none."""
    found = _EPOCH.search(consultation)
    return int(found[1]) if found else 0


def estimates(
    samples: Samples, *, clustered: bool, ends: Ends | Mapping[str, Ends] | None = None, neither: Collection[str] = ()
) -> dict[str, Estimate]:
    """Return the mean of each metric over all its values, see :func:`scoring.metrics.statistics.estimate`.

    ``clustered``: values of one case (turns, epochs) are correlated, while the published standard errors treat every
    value as independent. ``ends`` are the minimum and maximum of a value, by metric if they differ, and not of the
    metrics in ``neither``.
    """
    of_metric = dict(ends) if isinstance(ends, Mapping) else dict.fromkeys(samples, ends)
    return {
        name: estimate(
            (sample.value for sample in values),
            [case_of(sample.case) for sample in values] if clustered else None,
            ends=None if name in neither else of_metric.get(name),
        )
        for name, values in samples.items()
    }


def over_cases(
    values: Iterable[tuple[Hashable, float | None]], ends: Ends | None = None, *, published: bool = False
) -> Estimate:
    """Return the mean of values paired with their cases, which are the clusters; None values are unscored."""
    known = [(case, value) for case, value in values if value is not None]
    return estimate([value for _, value in known], [case for case, _ in known], ends=ends, published=published)


def by_case(values: Iterable[Sample]) -> dict[str, list[float]]:
    """Group values by case, over its epochs."""
    return grouped((case_of(dialogue), value) for dialogue, value in values)


def case_means(values: Iterable[Sample]) -> dict[str, float]:
    """Return the mean of each case's values, over its epochs."""
    return {case: sum(found) / len(found) for case, found in by_case(values).items()}


def known(values: Iterable[tuple[str, float | None]], scale: float = 1) -> list[Sample]:
    """Return the values of cases that have one, times ``scale``."""
    return [Sample(case, scale * value) for case, value in values if value is not None]


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def share(flags: Iterable[bool]) -> float:
    """Return the share of true flags; 0 if there are none."""
    return mean(list(flags)) or 0.0
