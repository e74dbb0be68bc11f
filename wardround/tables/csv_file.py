"""Tables as CSV: plain numbers at full precision."""

import csv
import io
from collections.abc import Iterator

from wardround.tables.table import Cell, Column, Measured, Table


def as_csv(table: Table) -> str:
    """The table as CSV; a mean has columns for itself, the ends of its interval and its number of cases.

    What has no value is an empty cell.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _names(column)])
    for row in table.rows:
        writer.writerow(
            [value for column, cell in zip(table.columns, row, strict=True) for value in _values(column, cell)]
        )
    return text.getvalue()


def _names(column: Column) -> list[str]:
    if not column.measured:
        return [column.name]
    parts = ("mean", "low", "high", "n", *(("p",) if column.tested else ()))
    return [f"{column.name}_{part}" for part in parts]


def _values(column: Column, cell: Cell) -> Iterator[str | int | float | None]:
    if not isinstance(cell, Measured):
        yield cell
        return
    found = cell.estimate
    yield found.mean
    yield from found.ci95 or (None, None)
    yield found.n
    if column.tested:
        yield cell.p
