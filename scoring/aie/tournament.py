"""Pairwise tournaments of doctors: win rates (AIE, figure 4) and agreement of judges with people (figure 5)."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scoring.aie.metrics import METRICS
from scoring.metrics.samples import Sample, Samples, case_means, case_of, epoch_of, of_epoch

if TYPE_CHECKING:
    import pandas as pd

Rater = Literal["people", "majority", "judge"]
Method = Literal["pearson", "spearman"]
Item = tuple[str, str, str, int]  # a pair (sorted by name), a case and an epoch
Column = dict[tuple[str, ...], float]  # by pair (sorted by name) and case
Columns = Mapping[str, Mapping[tuple[str, ...], float]]
AUTOMATIC = tuple(name for name in METRICS if not name.startswith("AVG_"))
_RESAMPLES, _SEED = 200, 20_240_607


@dataclass(frozen=True)
class Verdict:
    """The judgement of two doctors on one case."""

    case: str
    one: str
    other: str  # the doctor that ``one`` is compared with
    outcomes: Mapping[str, int]  # by aspect: 1 if ``one`` is better, -1 if the other is, 0 for a tie
    view: Literal["doctor", "patient"] = "doctor"  # whose view is taken
    rater: str = ""  # who judged, if several people did


def success(verdicts: Iterable[Verdict], doctor: str, aspect: str) -> list[Sample]:
    """Return 100 or 0 for each decided verdict that a doctor wins or loses, without ties (AIE, section 2.4)."""
    found = []
    for verdict in verdicts:
        side = 1 if verdict.one == doctor else -1 if verdict.other == doctor else 0
        if side and (outcome := verdict.outcomes.get(aspect)):
            found.append(Sample(verdict.case, 100.0 * (outcome == side)))
    return found


def votes(verdicts: Iterable[Verdict]) -> dict[str, dict[Item, dict[str, int]]]:
    """Return each rater's outcomes, by aspect and by pair (sorted by name), case and epoch."""
    by_aspect: dict[str, dict[Item, dict[str, int]]] = {}
    for verdict, (one, other), outcomes in _sorted_by_name(verdicts):
        item = (one, other, case_of(verdict.case), epoch_of(verdict.case))
        for aspect, outcome in outcomes.items():
            by_aspect.setdefault(aspect, {}).setdefault(item, {})[verdict.rater] = outcome
    return by_aspect


def _sorted_by_name(verdicts: Iterable[Verdict]) -> Iterator[tuple[Verdict, tuple[str, str], dict[str, int]]]:
    """Yield each verdict with its doctors sorted by name, and its outcomes from the side of the first of them."""
    for verdict in verdicts:
        one, other = sorted((verdict.one, verdict.other))
        side = 1 if one == verdict.one else -1
        yield verdict, (one, other), {aspect: side * outcome for aspect, outcome in verdict.outcomes.items()}


def majority(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the majority outcome of each pair and case; a tie if no outcome leads."""
    outcomes: dict[Item, dict[str, int]] = {}
    for aspect, by_item in votes(verdicts).items():
        for item, given in by_item.items():
            leading = Counter(given.values()).most_common(2)
            settled = len(leading) == 1 or leading[0][1] > leading[1][1]
            outcomes.setdefault(item, {})[aspect] = leading[0][0] if settled else 0
    view = verdicts[0].view if verdicts else "doctor"
    return [
        Verdict(of_epoch(case, epoch), one, other, found, view) for (one, other, case, epoch), found in outcomes.items()
    ]


def outcome_columns(verdicts: Iterable[Verdict], source: Rater, view: str) -> dict[str, Column]:
    """Return the outcome of each aspect by pair (sorted by name) and case, averaged over raters and epochs."""
    given: dict[str, dict[tuple[str, ...], list[int]]] = {}
    for verdict, pair, outcomes in _sorted_by_name(verdicts):
        unit = (*pair, case_of(verdict.case))
        for aspect, outcome in outcomes.items():
            given.setdefault(f"{source}: {view}, {aspect}", {}).setdefault(unit, []).append(outcome)
    return {name: {unit: sum(each) / len(each) for unit, each in units.items()} for name, units in given.items()}


def difference_columns(scores: Mapping[str, Samples]) -> dict[str, Column]:
    """Return the difference of each automatic metric by pair and case (over its epochs), where both doctors have it.

    Rounded to nine digits, so that equal differences have equal ranks: 0.4 - 0.3 is as much as 0.3 - 0.2.
    """
    by_case = {
        doctor: {name: case_means(samples.get(name, ())) for name in AUTOMATIC} for doctor, samples in scores.items()
    }
    columns: dict[str, Column] = {}
    for name in AUTOMATIC:
        for one, other in itertools.combinations(sorted(scores), 2):
            first, second = by_case[one][name], by_case[other][name]
            for case in (case for case in first if case in second):
                columns.setdefault(name, {})[one, other, case] = round(first[case] - second[case], 9)
    return columns


def of_pairs(columns: Columns, closed: Collection[str], how_many: int) -> dict[str, Column]:
    """Return the values of pairs in which ``how_many`` doctors are closed models (AIE, section 2.7)."""
    return {
        name: {
            unit: value for unit, value in column.items() if sum(doctor in closed for doctor in unit[:2]) == how_many
        }
        for name, column in columns.items()
    }


def correlations(columns: Columns, method: Method) -> "pd.DataFrame":
    """Return the correlations of all columns, over the pairs and cases that both have; none under three."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(column) for name, column in columns.items()}).corr(method, min_periods=3)


def with_people(
    columns: Columns, method: Method
) -> "Iterator[tuple[str, float | None, tuple[float, float] | None, int]]":
    """Yield each judged or automatic column's mean correlation with people's columns, highest first (AIE, figure 5b).

    Pairs and cases that no person judged do not count. The interval (95 %, percentiles) is by resampling cases; n is
    the number of pairs and cases for which the column has a value.
    """
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})
    people = [name for name in frame if str(name).startswith("people: ")]
    others = [name for name in frame if name not in people]
    frame = frame[frame[people].notna().any(axis=1)]

    def resampled_means(of: "pd.DataFrame") -> "pd.Series[float]":
        ranked = of.rank() if method == "spearman" else of  # ranking the whole frame at once is faster
        return ranked.corr(min_periods=3).loc[others, people].mean(axis=1)

    found = frame.corr(method, min_periods=3).loc[others, people].mean(axis=1)
    cases = list(frame.groupby(frame.index.get_level_values(2)).indices.values())  # row numbers of each case
    draw = np.random.default_rng(_SEED)
    drawn = (draw.integers(len(cases), size=len(cases)) for _ in range(_RESAMPLES))
    resampled = pd.DataFrame(
        [resampled_means(frame.iloc[np.concatenate([cases[at] for at in places])]) for places in drawn]
    )
    for name in found.sort_values(ascending=False, na_position="last").index:
        known = resampled[name].dropna()
        interval = None
        if len(cases) > 2 and len(known) >= 0.9 * _RESAMPLES:
            interval = (float(known.quantile(0.025)), float(known.quantile(0.975)))
        yield str(name), None if pd.isna(found[name]) else float(found[name]), interval, int(frame[name].notna().sum())
