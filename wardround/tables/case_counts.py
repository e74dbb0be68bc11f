"""How cases are distributed: departments, ordered items, image classes, treatments (MedChain, Figure 5)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cases import Case
from cases.vocabulary import AUXILIARY_ITEMS, PHYSICAL_ITEMS
from wardround.tables.figures import panels_of
from wardround.tables.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_RECORDED = "not recorded"
_MAX_DRAWN = 20  # the most frequent names per kind in the figure; the table has all
KINDS: dict[str, Callable[[Case], Iterable[str]]] = {
    "Department": lambda case: [case.key.department or NOT_RECORDED],
    "Second level": lambda case: case.key.sub_departments or [NOT_RECORDED],
    "Physical examination": lambda case: [item for item in case.key.examination_items if item in PHYSICAL_ITEMS.names],
    "Auxiliary examination": lambda case: [
        item for item in case.key.examination_items if item in AUXILIARY_ITEMS.names
    ],
    "Image class": lambda case: {image.item for image in case.examinations.images} | case.key.imaging_reports.keys(),
    "Treatment": lambda case: case.key.treatment_items,
}


def case_counts(cases: Sequence[Case]) -> Table:
    """Return the names of each kind by frequency: the number of cases that have it, and their share in percent."""
    rows = []
    for kind, names_in in KINDS.items():
        counts = Counter(name for case in cases for name in dict.fromkeys(names_in(case)))
        rows += [
            {"kind": kind, "name": name, "cases": count, "share": 100 * count / len(cases)}
            for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
    columns = [
        Column("kind", "", key=True),
        Column("name", "Name", key=True),
        Column("cases", "Cases"),
        Column("share", "% of cases", form=".1f"),
    ]
    notes = ["Examinations and treatments are the answer key's; a case may have several of a kind."]
    title, pictures = f"How {len(cases)} cases are distributed", {"case_counts": draw_case_counts}
    return Table("case_counts", title, columns, rows, notes, "Distribution of cases.", pictures=pictures)


def draw_case_counts(table: Table) -> "Figure":
    """Draw a panel of bars for each kind that any case has."""
    kinds = list(table.frame.groupby("kind", sort=False))
    shown = [min(len(rows), _MAX_DRAWN) for _, rows in kinds]
    tallest = [max(shown[place : place + 2]) for place in range(0, len(shown), 2)]
    size = (10.0, 0.6 * len(tallest) + 0.19 * sum(tallest))
    figure, panels = panels_of(len(tallest), 2, size, used=len(kinds), heights=tallest)
    for panel, (kind, rows), count in zip(panels, kinds, shown, strict=True):
        frequent = rows.head(count)
        bars = panel.barh(frequent["name"], frequent["cases"].astype(int))
        panel.bar_label(bars, padding=2, fontsize=7)
        panel.invert_yaxis()
        panel.set_title(f"{kind} ({count} of {len(rows)})" if count < len(rows) else str(kind), loc="left")
        panel.grid(axis="y", visible=False)
        panel.tick_params(axis="y", labelsize=7)
    return figure
