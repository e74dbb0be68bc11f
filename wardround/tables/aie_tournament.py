"""AIE's tables of tournaments: win rates (Figures 4 and 6a) and the agreement with people (Figure 5)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from scoring.aie.pairwise import ASPECTS, View
from scoring.aie.tournament import Columns, Method, Rater, Verdict, correlations, success, with_people
from scoring.metrics.correlation import spearman_matrix
from scoring.metrics.samples import PERCENT, estimates
from scoring.metrics.statistics import Estimate
from wardround.printing import counted
from wardround.rating.agreement import narrow_notes
from wardround.tables import figures
from wardround.tables.table import P_VALUE, Column, Table, alike, measured


def win_rates(
    verdicts: Mapping[Rater, Sequence[Verdict]], view: View, doctors: Sequence[str], judge: str = "a model"
) -> Table:
    """Tabulate how often each doctor wins, by rater and doctor (AIE, Figure 4); ``judge``: a model, or rules."""
    rows: list[dict[str, Any]] = []
    for source, given in verdicts.items():
        for doctor in doctors:
            if duels := sum(doctor in (one.one, one.other) for one in given):
                samples = {aspect: success(given, doctor, aspect) for aspect in ASPECTS[view]}
                found = estimates(samples, clustered=True, ends=PERCENT)
                rows.append({"judged": source, "run": doctor, **measured(found), "duels": duels})
    columns = [
        *alike({"judged": "Judged by", "run": "Doctor"}, key=True),
        *(Column(aspect, aspect.capitalize(), mean=True, ranked=True, ends=PERCENT) for aspect in ASPECTS[view]),
        Column("duels", "Pairs"),
    ]
    notes = ["Wins in percent of the decided pairs; ties are left out."]
    for source, given in verdicts.items():  # the percentages of a row have denominators of their own
        decided = {aspect: sum(bool(one.outcomes.get(aspect)) for one in given) for aspect in ASPECTS[view]}
        listed = ", ".join(f"{aspect} {count}" for aspect, count in decided.items())
        notes += [f"Decided, {source}: {listed} of {counted(len(given), 'pair')}."] if given else []
    if "majority" in verdicts:
        notes.append(
            "majority: one outcome per pair and case, the one most people chose; a tie if none has the most votes."
        )
    title = f"Win rates, the {view}'s view (AIE, Figure 4)"
    is_decided = any(row[f"{aspect}_n"] for row in rows for aspect in ASPECTS[view])  # else a picture would be empty
    name = f"aie-figure-4-{view}"
    drawn = {name: figures.draw_win_rates, f"aie-figure-6a-{view}": figures.draw_radar}
    pictures = {file: partial(draw, judge=judge) for file, draw in drawn.items()}
    return Table(name, title, columns, rows, notes, pictures=pictures if is_decided else {})


def matrix(columns: Columns, method: Method, pairs: str) -> Table:
    """Correlate every judged and automatic column with every other, over pairs and cases (AIE, Figures 5a, 5c-5e)."""
    found = correlations(columns, method)
    rows: list[dict[str, Any]] = [
        {"column": name, **{str(other): None if value != value else float(value) for other, value in values.items()}}
        for name, values in found.iterrows()
    ]
    titles = [Column("column", "", key=True), *(Column(str(name), str(name)) for name in found.columns)]
    name, title = f"aie-figure-5-{pairs}-{method}", f"Correlation ({method}), {pairs} pairs (AIE, Figure 5)"
    return Table(name, title, titles, rows, pictures={name: figures.draw_matrix})


def significance(columns: Columns, pairs: str) -> Table:
    """Tabulate the Spearman correlation of every two columns with its p and number of values (AIE, Figure 5)."""
    rows = [
        {"one": one, "other": other, "rho": found.rho, "p": found.p, "n": found.n}
        for (one, other), found in spearman_matrix(columns).items()
    ]
    titles = [
        *alike({"one": "", "other": ""}, key=True),
        Column("rho", "Spearman"),
        Column("p", "p", form=P_VALUE),
        Column("n", "Pairs by case"),
    ]
    note = "p takes all pairs and cases as independent; it is too small, as the same doctors and cases recur."
    return Table(
        f"aie-figure-5-{pairs}-tests", f"Tests of correlations, {pairs} pairs (AIE, Figure 5)", titles, rows, [note]
    )


def agreement(columns: Columns, method: Method, pairs: str) -> Table:
    """Tabulate the mean correlation of each column with people's judgements, the highest first (AIE, Figure 5b)."""
    rows: list[dict[str, Any]] = []
    cases: dict[str, int] = {}
    judged = {unit for name, column in columns.items() if name.startswith("people: ") for unit in column}
    for name, r, interval, n in with_people(columns, method):
        rows.append({"column": name, **measured({"r": Estimate(n=n, mean=r, ci95=interval)}), "n": n})
        cases |= {name: len({case for *_, case in columns[name].keys() & judged})} if interval else {}
    table_columns = [
        Column("column", "", key=True),
        Column("r", f"Mean {method.capitalize()}", mean=True),
        Column("n", "Pairs by case"),
    ]
    notes = ["Interval: 95 %, percentile bootstrap over cases. -: no correlation: equal values, or under three."]
    notes += narrow_notes(cases)
    name, title = f"aie-figure-5b-{pairs}-{method}", f"Agreement with people, {pairs} pairs (AIE, Figure 5b)"
    return Table(name, title, table_columns, rows, notes, pictures={name: figures.draw_agreement})
