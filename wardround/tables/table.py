"""A table before it is drawn: typed cells, so that terminal, CSV, LaTeX and HTML say the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.metrics.statistics import Estimate

NOTHING = "-"
LEVELS = ((0.01, "**"), (0.05, "*"))  # what a p below it is marked with


class DoesNotFitError(ValueError):
    """A table that cannot be made of these runs; the message says why."""


@dataclass(frozen=True)
class Measured:
    """A mean in a table, with its interval.

    Attributes:
        estimate: the mean, its interval and the number of cases.
        best: whether no other of its column is better.
        p: of the difference to the first row, corrected; None if it was not tested.
    """

    estimate: Estimate
    best: bool = False
    p: float | None = None

    @property
    def mark(self) -> str:
        """Stars for a significant difference."""
        return next((mark for level, mark in LEVELS if self.p is not None and self.p < level), "")


Cell = str | int | float | Measured | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: in a CSV file; without blanks.
        title: for people.
        group: a title over several columns that stand side by side.
        digits: after the point.
        key: whether it says what a row is about; drawn left, and not said again in the rows below.
        measured: whether its cells are means with intervals.
        tested: whether they also have p-values.
        ends: the least and the most that its numbers can be; None if not known.
    """

    name: str
    title: str
    group: str = ""
    digits: int = 2
    key: bool = False
    measured: bool = False
    tested: bool = False
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Table:
    """A table of results.

    Attributes:
        name: of its files.
        title: what it shows, in a few words.
        columns: in their order, those that say what a row is about first.
        rows: a cell for each column.
        notes: what a reader must know to read the numbers, one sentence each.
        caption: a sentence under or over it in print.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.name}: a row has not one cell for each of {len(self.columns)} columns")

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The titles over the columns with the number of columns that each spans, from left to right."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.group and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans

    @property
    def lines(self) -> list[list["Shown"]]:
        """The rows as they are drawn: what a row is about is not said again where the row above said it."""
        lines, above = [], None
        for row in self.rows:
            cells = [shown(cell, column) for cell, column in zip(row, self.columns, strict=True)]
            for place, column in enumerate(self.columns):
                if not column.key or above is None or row[place] != above[place]:
                    break
                cells[place] = Shown("")
            lines.append(cells)
            above = row
        return lines


@dataclass(frozen=True)
class Shown:
    """A cell in words: the number, half the width of its interval, stars, and whether it is the best."""

    text: str
    spread: str = ""
    mark: str = ""
    best: bool = False


def shown(cell: Cell, column: Column) -> Shown:
    """A cell as people read it; ± is half the width of the 95 % interval, as the papers print it."""
    if isinstance(cell, Measured):
        found = cell.estimate
        if found.mean is None:
            return Shown(NOTHING)
        spread = "" if found.ci95 is None else f"{(found.ci95[1] - found.ci95[0]) / 2:.{column.digits}f}"
        return Shown(f"{found.mean:.{column.digits}f}", spread, cell.mark, cell.best)
    if cell is None:
        return Shown(NOTHING)
    return Shown(f"{cell:.{column.digits}f}" if isinstance(cell, float) else str(cell))
