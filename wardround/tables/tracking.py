"""Tracked actions against people's labels: agreement by simulator, and confusion (AIE, Figure 3c)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from scoring.aie.simulator import confusion, replies
from scoring.aie.transcripts import ACTIONS, SimulatorTest
from scoring.metrics.samples import PERCENT, over_cases
from scoring.panel import cohen_kappa
from wardround.rating.agreement import resampled_interval
from wardround.tables.figures import draw_shares
from wardround.tables.table import Column, Table, measured


def tracking_table(played: Mapping[str, Sequence[SimulatorTest]]) -> Table | None:
    """Tabulate how far each simulator's (or person's) actions agree with the labels; None if none were tracked."""
    rows: list[dict[str, Any]] = []
    for name, tests in played.items():
        labelled: dict[str, list[tuple[str, str]]] = {}
        for reply in replies(tests):
            if reply.tracked is not None:
                labelled.setdefault(reply.test, []).append((reply.action, reply.tracked))
        if not labelled:
            continue
        found = over_cases(
            [(test, 100.0 * (one == other)) for test, pairs in labelled.items() for one, other in pairs], PERCENT
        )
        pairs = list(labelled.values())
        low, high = resampled_interval(pairs, lambda resampled: cohen_kappa(list(chain(*resampled)))) or (None, None)
        kappa = {"kappa_mean": cohen_kappa(list(chain(*pairs))), "kappa_low": low, "kappa_high": high}
        rows.append({"simulator": name, **measured({"accuracy": found}), **kappa, "n": found.n})
    columns = [
        Column("simulator", "Simulator", key=True),
        Column("accuracy", "Agreement with people", mean=True, ends=PERCENT),
        Column("kappa", "Cohen's kappa", mean=True),
        Column("n", "Questions"),
    ]
    notes = ["Percent, except kappa. Intervals: 95 %, over patients; for kappa, by resampling patients."]
    title = "Tracked actions compared with people's labels (AIE, Figure 3c)"
    return Table("aie-figure-3c", title, columns, rows, notes) if rows else None


def confusion_tables(played: Mapping[str, Sequence[SimulatorTest]]) -> list[Table]:
    """Tabulate each simulator's tracked actions as shares of a label's questions: rows are labels, columns actions."""
    tables = []
    for name, tests in played.items():
        # Labels that are not actions have no row.
        if (matrix := confusion(tests)).keys() & ACTIONS.keys():
            codes = [code for code in ACTIONS if code in matrix or any(code in row for row in matrix.values())]
            rows = [
                {"label": code, **{other: matrix[code][other] / matrix[code].total() for other in codes}}
                for code in codes
                if code in matrix
            ]
            columns = [Column("label", "", key=True), *(Column(code, code) for code in codes)]
            title = f"Tracked actions (columns) by people's labels (rows): {name}"
            file = f"aie-figure-3c-{name.replace('/', '-')}"
            tables.append(Table(file, title, columns, rows, pictures={file: draw_shares}))
    return tables
