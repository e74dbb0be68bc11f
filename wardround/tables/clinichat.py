"""CliniChat's tables: the 34 numbers of Clini-Eval (Table 6), and the departments of dialogues (Figure 3)."""

from collections.abc import Sequence

from scoring.clini_eval.data_sheet import DataSheet
from scoring.clini_eval.points import LEAVES
from scoring.metrics.samples import over_cases
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_departments
from wardround.tables.table import Column, Table, measured


def build_leaves(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the mean points of each number and their maximum; empty if no rule or judge gave any."""
    rows = []
    for leaf in LEAVES.values():
        means, run_names = {}, {}
        for place, run in enumerate(runs):
            points = [(one.case_id, one.scores.get(leaf.column)) for one in run.scored]
            means[str(place)] = over_cases(points, (0.0, leaf.maximum))
            run_names[f"run{place}"] = run.name
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


def departments(sheet: DataSheet) -> Table:
    """Tabulate the dialogues of each department, the largest first; there must be one."""
    rows = [
        {"department": name, "dialogues": count, "share": count / sheet.dialogues}
        for name, count in sheet.departments.items()
    ]
    columns = [
        Column("department", "Department", key=True),
        Column("dialogues", "Dialogues"),
        Column("share", "Share", form=".3f"),
    ]
    pictures = {"departments": draw_departments}
    return Table("departments", "Dialogues by department", columns, rows, pictures=pictures)
