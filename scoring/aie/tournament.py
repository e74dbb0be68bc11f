"""Pairwise tournaments of doctors: people's choices, win rates (AIE, figure 4) and agreement of judges (figure 5)."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cases import Problem
from cases.importers.source import Source
from scoring.aie.metrics import METRICS
from scoring.aie.pairwise import ASPECTS, View
from scoring.metrics.samples import Sample, case_means, case_of
from scoring.records import read_sheet

if TYPE_CHECKING:
    import pandas as pd

Rater = Literal["people", "majority", "judge"]
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


def votes(verdicts: Iterable[Verdict]) -> dict[str, dict[tuple[str, str, str, int], dict[str, int]]]:
    """Return each rater's outcomes, by aspect and by pair (sorted by name) and case (of epoch 1)."""
    by_aspect: dict[str, dict[tuple[str, str, str, int], dict[str, int]]] = {}
    for verdict, (one, other), outcomes in _sorted_by_name(verdicts):
        for aspect, outcome in outcomes.items():
            by_aspect.setdefault(aspect, {}).setdefault((one, other, verdict.case, 1), {})[verdict.rater] = outcome
    return by_aspect


def _sorted_by_name(verdicts: Iterable[Verdict]) -> Iterator[tuple[Verdict, tuple[str, str], dict[str, int]]]:
    """Yield each verdict with its doctors sorted by name, and its outcomes from the side of the first of them."""
    for verdict in verdicts:
        one, other = sorted((verdict.one, verdict.other))
        side = 1 if one == verdict.one else -1
        yield verdict, (one, other), {aspect: side * outcome for aspect, outcome in verdict.outcomes.items()}


def majority(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the majority outcome of each pair and case; a tie if no outcome leads."""
    outcomes: dict[tuple[str, str, str, int], dict[str, int]] = {}
    for aspect, by_item in votes(verdicts).items():
        for item, given in by_item.items():
            leading = Counter(given.values()).most_common(2)
            settled = len(leading) == 1 or leading[0][1] > leading[1][1]
            outcomes.setdefault(item, {})[aspect] = leading[0][0] if settled else 0
    view = verdicts[0].view if verdicts else "doctor"
    return [Verdict(case, one, other, found, view) for (one, other, case, _), found in outcomes.items()]


def outcome_columns(verdicts: Iterable[Verdict], source: Rater, view: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the outcome of each aspect by pair (sorted by name) and case, averaged over raters and epochs."""
    given: dict[str, dict[tuple[str, ...], list[int]]] = {}
    for verdict, pair, outcomes in _sorted_by_name(verdicts):
        unit = (*pair, case_of(verdict.case))
        for aspect, outcome in outcomes.items():
            given.setdefault(f"{source}: {view}, {aspect}", {}).setdefault(unit, []).append(outcome)
    return {name: {unit: sum(each) / len(each) for unit, each in units.items()} for name, units in given.items()}


def difference_columns(scores: Mapping[str, Mapping[str, Sequence[Sample]]]) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the difference of each automatic metric by pair and case (over its epochs), where both doctors have it.

    Rounded to nine digits, so that equal differences have equal ranks: 0.4 - 0.3 is as much as 0.3 - 0.2.
    """
    by_case = {
        doctor: {name: case_means(samples.get(name, ())) for name in AUTOMATIC} for doctor, samples in scores.items()
    }
    columns: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in AUTOMATIC}
    for one, other in itertools.combinations(sorted(scores), 2):
        for name in AUTOMATIC:
            first, second = by_case[one][name], by_case[other][name]
            columns[name] |= {
                (one, other, case): round(first[case] - second[case], 9) for case in first if case in second
            }
    return {name: column for name, column in columns.items() if column}


def of_pairs(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], closed: Collection[str], how_many: int
) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of pairs in which ``how_many`` doctors are closed models (AIE, section 2.7)."""
    return {
        name: {
            unit: value for unit, value in column.items() if sum(doctor in closed for doctor in unit[:2]) == how_many
        }
        for name, column in columns.items()
    }


def correlations(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], method: Literal["pearson", "spearman"]
) -> "pd.DataFrame":
    """Return the correlations of all columns, over the pairs and cases that both have; none under three."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(column) for name, column in columns.items()}).corr(method, min_periods=3)


def with_people(
    columns: Mapping[str, Mapping[tuple[str, ...], float]], method: Literal["pearson", "spearman"]
) -> "Iterator[tuple[str, float | None, tuple[float, float] | None, int]]":
    """Yield each judged or automatic column's mean correlation with people's columns, highest first (AIE, figure 5b).

    The interval (95 %, percentiles) is by resampling cases; n is the number of pairs and cases that people judged and
    for which the column has a value.
    """
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})
    people = [name for name in frame if str(name).startswith("people: ")]
    others = [name for name in frame if name not in people]

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
    judged = frame[people].notna().any(axis=1)
    for name in found.sort_values(ascending=False, na_position="last").index:
        known = resampled[name].dropna()
        interval = None
        if len(cases) > 2 and len(known) >= 0.9 * _RESAMPLES:
            interval = (float(known.quantile(0.025)), float(known.quantile(0.975)))
        n = int((judged & frame[name].notna()).sum())
        yield str(name), None if pd.isna(found[name]) else float(found[name]), interval, n


_OUTCOMES = {"win": 1, "lose": -1, "tie": 0}
_AUTHORS = {"model1": 1, "model2": -1, "tie": 0}
_COLUMNS = ("case", "one", "other")
_RENAMED = {"professional": "total"}  # the name in the authors' form for patients
_KNOWN = {aspect for aspects in ASPECTS.values() for aspect in aspects} | {"doctor_total", "patient_total"}


def read_choices(path: str | Path) -> tuple[list[Verdict], list[Problem]]:
    """Read people's choices from a file; return them and the problems.

    JSON, the authors' format: ``{id, model1: {model}, model2: {model}, result: {aspect: winner}}``, where the winner is
    model1, model2 or tie. CSV: columns case, one, other, and one per aspect with win, lose or tie from the side of
    ``one``; rater is optional.
    """
    path = Path(path)
    found: list[Verdict] = []
    problems: list[Problem] = []
    entries: Sequence[tuple[str, Any]]
    is_sheet = path.suffix.lower() in (".csv", ".tsv")
    if is_sheet:
        columns, entries, problems = read_sheet(path, _COLUMNS)
        problems += [
            Problem(str(path), "header", title, f"is not an aspect; known aspects: {', '.join(sorted(_KNOWN))}")
            for title in columns
            if title not in (*_COLUMNS, "rater") and _aspect(title) not in _KNOWN
        ]
    else:
        source = Source(path)
        entries = [(record.name, record.value) for record in source.records()]
        problems += source.problems
    for name, value in entries:
        made = _of_row(value) if is_sheet else _of_record(value)
        if isinstance(made, tuple):
            problems.append(Problem(str(path), name, *made))
        elif made is not None:
            found += made
    if not (found or problems):
        problems.append(
            Problem(str(path), "", "", "contains no choices; expected pairs of doctors with win, lose or tie")
        )
    return found, problems


def verdicts(case: str, one: str, other: str, outcomes: Mapping[str, int], rater: str = "") -> list[Verdict]:
    """Return a choice as verdicts, one for each view that it covers."""
    return [Verdict(case, one, other, of_view, view, rater) for view, of_view in by_view(outcomes).items()]


def by_view(outcomes: Mapping[str, int]) -> dict[View, dict[str, int]]:
    """Group outcomes by view; a plain ``total`` belongs to the view of the other aspects."""
    found: dict[View, dict[str, int]] = {}
    views: tuple[View, ...] = ("doctor", "patient")
    for view in views:
        own = {name: outcomes[name] for name in ASPECTS[view] if name in outcomes and name != "total"}
        total = outcomes.get(f"{view}_total", outcomes.get("total") if own and not found else None)
        if own or f"{view}_total" in outcomes:
            found[view] = own | ({} if total is None else {"total": total})
    return found or ({"doctor": dict(outcomes)} if outcomes else {})


def named(given: Sequence[Verdict], doctors: Sequence[str]) -> tuple[list[Verdict], list[str]]:
    """Return the choices with names replaced by those of the given doctors, and the unknown names.

    A name means the doctor with that name, or else the only one whose name begins with it.
    """
    names = {name for verdict in given for name in (verdict.one, verdict.other)}
    meant: dict[str, str] = {}
    for name in names:
        matches = [doctor for doctor in doctors if doctor.casefold().startswith(name.casefold())]
        if name in doctors or len(matches) == 1:
            meant[name] = name if name in doctors else matches[0]
    known = [
        replace(each, one=meant[each.one], other=meant[each.other])
        for each in given
        if each.one in meant and each.other in meant
    ]
    return known, sorted(names - meant.keys())


def _of_row(row: Mapping[str, str]) -> list[Verdict] | tuple[str, str]:
    outcomes = {}
    for title, cell in row.items():
        if (aspect := _aspect(title)) in _KNOWN and cell:
            if cell.lower() not in _OUTCOMES:
                return title, f"expected win, lose or tie, found {cell!r}"
            outcomes[aspect] = _OUTCOMES[cell.lower()]
    case, one, other = (row[name] for name in _COLUMNS)
    if not (case and one and other) or one == other:
        return "one", "expected a case and two different doctors"
    return verdicts(case, one, other, outcomes, row.get("rater", ""))


def _of_record(value: Any) -> list[Verdict] | tuple[str, str] | None:
    """Read an entry of the authors' file; None if it is not judged yet."""
    if not isinstance(value, Mapping) or "id" not in value:
        return "id", "expected an object with id, model1, model2 and result"
    doctors = [_model(value.get(side)) for side in ("model1", "model2")]
    if not all(doctors) or doctors[0] == doctors[1]:
        return "model1.model", "expected the names of two different doctors in model1.model and model2.model"
    if value.get("result") is None:
        return None
    if not isinstance(value["result"], Mapping):
        return "result", f"expected an object of aspects, found {value['result']!r}"
    outcomes = {}
    for aspect, given in value["result"].items():
        chosen = next((outcome for word, outcome in _AUTHORS.items() if word in str(given)), None)
        if chosen is None:
            return f"result.{aspect}", f"expected model1, model2 or tie, found {given!r}"
        if (name := _aspect(aspect)) in _KNOWN:
            outcomes[name] = chosen
    return verdicts(str(value["id"]), doctors[0], doctors[1], outcomes, str(value.get("rater") or ""))


def _aspect(title: object) -> str:
    """Return an aspect by its title in a file: "Inquiry", or the authors' name for it."""
    name = str(title).strip().lower()
    return _RENAMED.get(name, name)


def _model(value: Any) -> str:
    return str(value.get("model") or "") if isinstance(value, Mapping) else ""
