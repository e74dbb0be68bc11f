"""The 34 numbers of Clini-Eval, run beside run (CliniChat, Table 6)."""

from collections.abc import Sequence

from scoring.clini_eval.points import LEAVES
from scoring.metrics.samples import over_cases
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, Table, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the mean points of each number and their maximum; empty if no rule or judge gave any."""
    rows = []
    for leaf in LEAVES.values():
        means = {
            str(place): over_cases([(one.case_id, one.scores.get(leaf.column)) for one in run.scored])
            for place, run in enumerate(runs)
        }
        run_names = {f"run{place}": run.name for place, run in enumerate(runs)}
        rows.append({"main": leaf.main, "leaf": leaf.column, "maximum": leaf.maximum, **run_names, **measured(means)})
    if not any(row[f"{place}_n"] for row in rows for place in range(len(runs))):
        return []
    columns = [
        Column("main", "Main metric", key=True),
        Column("leaf", "Item"),
        Column("maximum", "Maximum", form="g"),
        *(Column(str(place), run.name, mean=True) for place, run in enumerate(runs)),
    ]
    notes = ["Mean points over the dialogues in which the item was assessed; rules can assess only some items."]
    return [Table("leaves", "The 34 items", columns, rows, notes, "The items of Clini-Eval.")]
