"""Doctors held against each other pair by pair: who wins how often (AIE, figure 4), and who agrees (figure 5)."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scoring.aie.metrics import METRICS
from scoring.metrics.samples import Sample, case_means

if TYPE_CHECKING:
    import pandas as pd

Source = Literal["people", "majority", "judge"]
AUTOMATIC = tuple(name for name in METRICS if not name.startswith("AVG_"))
_RESAMPLES, _SEED = 200, 20_240_607


@dataclass(frozen=True)
class Verdict:
    """What was judged of two doctors on one case."""

    case: str
    one: str
    other: str  # the doctor that ``one`` is held against
    outcomes: Mapping[str, int]  # by aspect, 1 where ``one`` is better, -1 where the other is, 0 for neither
    view: Literal["doctor", "patient"] = "doctor"  # whose view it takes
    rater: str = ""  # who judged, where several people did


def success(verdicts: Iterable[Verdict], doctor: str, aspect: str) -> list[Sample]:
    """Whether a doctor wins, 100 or 0, in each verdict that decides; ties are left out (AIE, section 2.4)."""
    found = []
    for verdict in verdicts:
        side = 1 if verdict.one == doctor else -1 if verdict.other == doctor else 0
        if side and (outcome := verdict.outcomes.get(aspect)):
            found.append(Sample(verdict.case, 100.0 * (outcome == side)))
    return found


def votes(verdicts: Iterable[Verdict]) -> dict[str, dict[tuple[str, str, str, int], dict[str, int]]]:
    """Each rater's outcomes, by aspect and by pair and case (of epoch 1); the doctors of a pair by name."""
    found: dict[str, dict[tuple[str, str, str, int], dict[str, int]]] = {}
    for verdict in verdicts:
        one, other = sorted((verdict.one, verdict.other))
        side = 1 if one == verdict.one else -1
        for aspect, outcome in verdict.outcomes.items():
            item = found.setdefault(aspect, {}).setdefault((one, other, verdict.case, 1), {})
            item[verdict.rater] = side * outcome
    return found


def majority(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What most raters say of each pair and case; a tie where no outcome has the most."""
    outcomes: dict[tuple[str, str, str, int], dict[str, int]] = {}
    for aspect, by_item in votes(verdicts).items():
        for item, given in by_item.items():
            leading = Counter(given.values()).most_common(2)
            settled = len(leading) == 1 or leading[0][1] > leading[1][1]
            outcomes.setdefault(item, {})[aspect] = leading[0][0] if settled else 0
    view = verdicts[0].view if verdicts else "doctor"
    return [Verdict(case, one, other, found, view) for (one, other, case, _), found in outcomes.items()]


def outcome_columns(verdicts: Iterable[Verdict], source: Source, view: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The outcome of each aspect by pair and case, the mean of several raters; the doctors of a pair by name."""
    votes: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for verdict in verdicts:
        pair = tuple(sorted((verdict.one, verdict.other)))
        side = 1 if pair[0] == verdict.one else -1
        for aspect, outcome in verdict.outcomes.items():
            unit = (*pair, verdict.case)
            votes.setdefault(f"{source}: {view}, {aspect}", {}).setdefault(unit, []).append(float(side * outcome))
    return {name: {unit: sum(given) / len(given) for unit, given in units.items()} for name, units in votes.items()}


def difference_columns(scores: Mapping[str, Mapping[str, Sequence[Sample]]]) -> dict[str, dict[tuple[str, ...], float]]:
    """The difference of each automatic metric by pair and case; one that a doctor lacks has no difference there."""
    by_case = {
        doctor: {name: case_means(samples.get(name, ())) for name in AUTOMATIC} for doctor, samples in scores.items()
    }
    columns: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in AUTOMATIC}
    for one, other in itertools.combinations(sorted(scores), 2):
        for name in AUTOMATIC:
            here, there = by_case[one][name], by_case[other][name]
            columns[name] |= {(one, other, case): here[case] - there[case] for case in here if case in there}
    return {name: column for name, column in columns.items() if column}


def of_pairs(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], closed: Collection[str], how_many: int
) -> dict[str, dict[tuple[str, ...], float]]:
    """The values of pairs of which so many doctors are closed (AIE, section 2.7)."""
    return {
        name: {
            unit: value for unit, value in column.items() if sum(doctor in closed for doctor in unit[:2]) == how_many
        }
        for name, column in columns.items()
    }


def correlations(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], method: Literal["pearson", "spearman"]
) -> "pd.DataFrame":
    """Each column's correlation with each other, over the pairs and cases that both have; none under three of them."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(column) for name, column in columns.items()}).corr(method, min_periods=3)


def with_people(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], method: Literal["pearson", "spearman"]
) -> "Iterator[tuple[str, float | None, tuple[float, float] | None, int]]":
    """Each judged and automatic column's mean correlation with people's columns, the highest first (AIE, figure 5b).

    The interval (95 %, percentiles) is by resampling cases; n is the pairs and cases that people judged and the column
    has a value of.
    """
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})
    people = [name for name in frame if str(name).startswith("people: ")]
    others = [name for name in frame if name not in people]

    def resampled_means(of: "pd.DataFrame") -> "pd.Series[float]":
        ranked = of.rank() if method == "spearman" else of  # at once, which is fast enough to be done over and over
        return ranked.corr(min_periods=3).loc[others, people].mean(axis=1)

    found = frame.corr(method, min_periods=3).loc[others, people].mean(axis=1)
    cases = list(frame.groupby(frame.index.get_level_values(2)).indices.values())  # where the rows of each are
    draw = np.random.default_rng(_SEED)
    drawn = (draw.integers(len(cases), size=len(cases)) for _ in range(_RESAMPLES))
    resampled = pd.DataFrame(
        [resampled_means(frame.iloc[np.concatenate([cases[at] for at in places])]) for places in drawn]
    )
    judged = frame[people].notna().any(axis=1)
    for name in found.sort_values(ascending=False, na_position="last").index:
        known = resampled[name].dropna()
        interval = None
        if len(cases) > 2 and len(known) >= 0.9 * _RESAMPLES:
            interval = (float(known.quantile(0.025)), float(known.quantile(0.975)))
        n = int((judged & frame[name].notna()).sum())
        yield str(name), None if pd.isna(found[name]) else float(found[name]), interval, n
