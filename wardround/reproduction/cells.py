"""A printed number beside ours, and why they differ, where the numbers themselves tell."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scoring.metrics.samples import Definition, Sample, Samples, mean


@dataclass(frozen=True)
class Printing:
    """How a table prints its numbers."""

    digits: int = 2  # decimals
    cut: bool = False  # whether it truncates instead of rounding
    halves: tuple[str, str, str] | None = None  # a column, and the two columns of which it is the mean


@dataclass(frozen=True)
class Found:
    """What one doctor's files give for a column; for some columns, with the value of each case."""

    ours: float | None = None  # by the published computation, at full precision; None without the doctor's file
    sound: float | None = None  # by the sound definition
    n: int = 0  # number of values behind ours
    samples: Sequence[Sample] = ()
    reason: str = ""  # why ours may differ, if the numbers do not tell
    lacking: Sequence[str] = ()  # cases that only other doctors' files have


@dataclass(frozen=True, kw_only=True)
class Cell(Found):
    """One printed number, and what its doctor's files give; its reason is why ours differs, where that is known."""

    table: str  # as the paper numbers it
    row: str  # the doctor
    column: str  # the metric
    paper: float  # as printed
    printing: Printing = Printing()

    @property
    def shown(self) -> float | None:
        """Ours as the paper would print it."""
        if self.ours is None:
            return None
        scale = 10.0**self.printing.digits
        return (math.floor(self.ours * scale + 1e-9) if self.printing.cut else round(self.ours * scale)) / scale

    @property
    def same(self) -> bool:
        """Whether ours equals the printed number; a half may be rounded either way."""
        if self.ours is None or self.shown is None:
            return False
        half = 0.5 * 10**-self.printing.digits
        return abs(self.shown - self.paper) < 1e-9 or (
            not self.printing.cut and abs(self.ours - self.paper) <= half + 1e-9
        )

    def text(self, value: float) -> str:
        """Return a number with the decimals of this cell."""
        return f"{value:.{self.printing.digits}f}"


def found_by_metric(
    score: Callable[[Definition], Samples], names: Iterable[str], lacking: Sequence[str] = ()
) -> dict[str, Found]:
    """Return a doctor's means by both definitions."""
    paper, sound = score("paper"), score("sound")
    found = {}
    for name in names:
        by_paper, by_sound = (mean(value for _, value in samples[name]) for samples in (paper, sound))
        found[name] = Found(by_paper, by_sound, len(paper[name]), paper[name], lacking=lacking)
    return found


def average_of(parts: Sequence[Found], n: int) -> Found:
    """Return the means of columns, or of rounds, over those that have a value; ``n`` is the number of values behind."""
    return Found(mean(one.ours for one in parts), mean(one.sound for one in parts), n)


def cells_of(
    table: str,
    printed: Mapping[tuple[str, str], float],
    found: Mapping[str, Mapping[str, Found]],
    printing: Printing = Printing(),
) -> list[Cell]:
    """Return the cells of a table, each with the reason for a difference, where one can be found out.

    Args:
        table: as the paper numbers it.
        printed: the numbers, by row (doctor) and column (metric).
        found: what the doctors' files give, by row and column.
        printing: how the table prints.
    """
    cells = []
    for (row, column), number in printed.items():
        ours = vars(found.get(row, {}).get(column, Found()))
        cells.append(Cell(table=table, row=row, column=column, paper=number, printing=printing, **ours))
    return [replace(cell, reason=_reason(cell, cells)) for cell in cells]


def _reason(cell: Cell, table: Sequence[Cell]) -> str:
    """Return why a cell differs: a misprint, if it is one, else a case more or less, else what is known beforehand."""
    if cell.ours is None or cell.same:
        return ""
    return (
        _swapped_digits(cell)
        or _swapped_cells(cell, table)
        or _no_mean_of_its_halves(cell, table)
        or _a_case_more(cell)
        or _cases_fewer(cell)
        or cell.reason
        or "not known"
    )


def _swapped_digits(cell: Cell) -> str:
    printed, shown = cell.text(cell.paper), cell.text(cell.shown or 0)
    differing = sum(a != b for a, b in zip(printed, shown, strict=False))
    return "two digits are swapped in print" if differing == 2 and sorted(printed) == sorted(shown) else ""


def _swapped_cells(cell: Cell, table: Iterable[Cell]) -> str:
    for other in table:
        adjacent = (other.row == cell.row) != (other.column == cell.column)
        if adjacent and other.shown == cell.paper and other.paper == cell.shown:
            return f"swapped in print with {other.row if other.column == cell.column else other.column}"
    return ""


def _no_mean_of_its_halves(cell: Cell, table: Iterable[Cell]) -> str:
    column, *halves = cell.printing.halves or ("",)
    if cell.column != column:
        return ""
    printed = [other.paper for other in table if other.row == cell.row and other.column in halves]
    # Of two truncated halves, the mean may be printed 0.01 lower.
    return "not the mean of its own printed columns" if abs(sum(printed) / 2 - cell.paper) > 0.0101 else ""


def _a_case_more(cell: Cell) -> str:
    total, n = math.fsum(one.value for one in cell.samples), len(cell.samples)
    for case, value in cell.samples if n > 2 else ():
        if replace(cell, ours=(total - value) / (n - 1)).same:
            return f"as printed without case {case}"
    return ""


def _cases_fewer(cell: Cell) -> str:
    if not cell.lacking:
        return ""
    total, n = math.fsum(one.value for one in cell.samples), len(cell.samples)
    needed = (cell.paper * (n + len(cell.lacking)) - total) / len(cell.lacking)
    return (
        f"over {n}, without {cases(cell.lacking)}; as printed if the mean of the missing cases is {cell.text(needed)}"
    )


def cases(ids: Sequence[str]) -> str:
    """Return ids as words: 'case 7', 'cases 7, 8'."""
    return f"case{'s' * (len(ids) > 1)} {', '.join(ids)}"
