"""The departments of a set of dialogues, as a table and as bars (CliniChat, Figure 3)."""

from typing import TYPE_CHECKING

from scoring.clini_eval.data_sheet import DataSheet
from wardround.tables.figures import COLOURS, panels_of
from wardround.tables.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def departments(sheet: DataSheet) -> Table:
    """Tabulate the dialogues of each department, the largest first."""
    rows = [
        {"department": name, "dialogues": count, "share": count / sheet.dialogues}
        for name, count in sheet.departments.items()
    ]
    columns = [
        Column("department", "Department", key=True),
        Column("dialogues", "Dialogues"),
        Column("share", "Share", form=".3f"),
    ]
    pictures = {"departments": draw_departments} if rows else {}
    return Table("departments", "Dialogues by department", columns, rows, pictures=pictures)


def draw_departments(table: Table) -> "Figure":
    """Draw a bar for each department, the largest first."""
    names, counts = table.frame["department"].tolist(), table.frame["dialogues"].tolist()
    figure, (panel,) = panels_of(1, 1, (6.0, 0.6 + 0.27 * len(names)))
    bars = panel.barh(range(len(names)), counts, color=COLOURS[0])
    panel.bar_label(bars, padding=3)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    panel.set_xlabel("Dialogues")
    return figure
