"""A table of results: its numbers in a data frame, as CSV has them, and how people read them."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pandas as pd

from scoring.metrics.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "-"
SPREAD = "±: half the width of the 95 % interval; in brackets its ends, where it reaches further to one side"
_LEVELS = ((0.01, "**"), (0.05, "*"))  # what a p below it is marked with
_NUMBER = re.compile(r"[-+±<>≤≥$]? ?\.?\d")
_FORMULA = tuple("=+-@")  # what a spreadsheet takes a cell for that begins so, full width or small too


class DoesNotFitError(ValueError):
    """A table that cannot be made of these runs; the message says why."""


def measured(estimates: Mapping[str, Estimate], **more: Mapping[str, float | None]) -> dict[str, float | None]:
    """Means as they stand in a row of a frame: each with the ends of its interval and its number of cases.

    ``more`` are further parts of each, such as ``p``.
    """
    row: dict[str, float | None] = {}
    for name, found in estimates.items():
        low, high = found.ci95 or (None, None)
        parts = {"mean": found.mean, "low": low, "high": high, "n": found.n}
        parts |= {part: values.get(name) for part, values in more.items()}
        row |= {f"{name}_{part}": value for part, value in parts.items()}
    return row


@dataclass(frozen=True)
class Column:
    """What people see of a frame."""

    name: str  # of the frame's column, or of a mean that ``measured`` has put there
    title: str  # for people
    group: str = ""  # a title over several columns that stand side by side
    form: str = ".2f"  # how numbers are written that are not whole, as ``format`` takes it
    key: bool = False  # whether it says what a row is about; drawn left, and not said again in the rows below
    mean: bool = False  # whether it is a mean with its interval, and with stars where it has a p
    ranked: bool = False  # whether the highest mean and the second are marked
    ends: tuple[float, float] | None = None  # the least and the most that its numbers can be; None if not known


@dataclass(frozen=True)
class Shown:
    """A cell in words: the number, its interval (± half its width, or its ends), stars, whether best or second."""

    text: str
    spread: str = ""
    mark: str = ""
    best: bool = False
    second: bool = False


@dataclass(frozen=True)
class Table:
    """A table of results."""

    name: str  # of its files
    title: str  # what it shows, in a few words
    columns: Sequence[Column]  # what people see, in its order, what a row is about first
    rows: Sequence[Mapping[str, Any]]  # the numbers by the name of their column, in the order of a CSV file
    notes: Sequence[str] = ()  # what a reader must know to read the numbers, one sentence each
    caption: str = ""  # a sentence under or over it in print
    # the places of rows that only tell what the others are worth; none of them is the best or the second
    beside: Collection[int] = ()
    # which of the notes say that offline rules spoke; they go with the CSV file and the figure too
    by_rules: Sequence[str] = ()
    pictures: "Mapping[str, Callable[[Table], Figure]]" = field(default_factory=dict)  # how it is drawn, by file name

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a data frame; whole numbers stay whole beside what has no value."""
        return pd.DataFrame(list(self.rows), dtype=object)

    @property
    def csv(self) -> str:
        """The table as CSV: plain numbers at full precision, an empty cell where there is none.

        Where offline rules spoke, each row says so in a last column, ``by_rules``. A text that a spreadsheet would take
        for a formula gets an apostrophe before it.
        """
        said = {"by_rules": " ".join(self.by_rules)} if self.by_rules else {}
        rows = [{no_formula(name): no_formula(value) for name, value in {**row, **said}.items()} for row in self.rows]
        return pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n")

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The titles over the columns with the number of columns that each spans, from left to right."""
        return [(title, len(list(same))) for title, same in groupby(column.group for column in self.columns)]

    @property
    def lines(self) -> list[list[Shown]]:
        """The rows as they are drawn: what a row is about is not said again where the row above said it."""
        columns = [self._shown(column) for column in self.columns]
        lines = [list(line) for line in zip(*columns, strict=True)]
        keys = self.frame[[column.name for column in self.columns if column.key]]
        for line, again in zip(lines, keys.eq(keys.shift()).cumprod(axis=1).sum(axis=1), strict=True):
            line[: int(again)] = [Shown("")] * int(again)
        return lines

    @property
    def left(self) -> list[bool]:
        """Of each column whether it is drawn left: what a row is about, and text; numbers stand right."""
        columns = zip(*self.lines, strict=True) if self.rows else ((),) * len(self.columns)
        return [
            column.key or not of_numbers(cell.text for cell in cells)
            for column, cells in zip(self.columns, columns, strict=True)
        ]

    def points(self, name: str) -> pd.DataFrame:
        """The known means of a column, each with the ends of its interval (itself if it has none), by row."""
        parts = self.frame[[f"{name}_mean", f"{name}_low", f"{name}_high"]].astype(float)
        parts.columns = pd.Index(["mean", "low", "high"])
        return parts.dropna(subset="mean").ffill(axis=1)

    def _shown(self, column: Column) -> list[Shown]:
        if not column.mean:
            return [Shown(_said(value, column.form)) for value in self.frame[column.name]]
        means = self.frame[f"{column.name}_mean"]
        ends = zip(self.frame[f"{column.name}_low"], self.frame[f"{column.name}_high"], strict=True)
        # Nothing is highest of one row, or if all are the same; nor is the lower of two a second.
        ranks = means.drop(index=list(self.beside)).dropna().astype(float).rank(method="dense", ascending=False)
        kinds = ranks.nunique() if column.ranked else 0
        p_values = self.frame.get(f"{column.name}_p", [None] * len(means))
        return [
            Shown(
                _said(mean, column.form),
                _interval(mean, low, high, column.form),
                stars(p),
                kinds > 1 and ranks.get(place) == 1,
                kinds > 2 and ranks.get(place) == 2,
            )
            for place, (mean, (low, high), p) in enumerate(zip(means, ends, p_values, strict=True))
        ]


def of_numbers(cells: Iterable[str]) -> bool:
    """Whether cells of a column are numbers, which are drawn right, as far as they say anything; else they are text."""
    said = [cell for cell in cells if cell not in ("", NOTHING)]
    return 2 * sum(bool(_NUMBER.match(cell)) for cell in said) >= len(said)


def as_markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells as a table of Markdown."""
    told = [[cell.replace("|", "/") for cell in row] for row in rows]
    rule = ["---:" if place and of_numbers(row[place] for row in told) else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *told))


def _said(value: Any, form: str) -> str:
    """A value as people read it."""
    if pd.isna(value):
        return NOTHING
    return _written(value, form) if isinstance(value, float) else str(value)


def _written(number: float, form: str) -> str:
    """A number in a form, in which what rounds to zero has no minus sign."""
    sign = form[: form.startswith("+")]
    return f"{number:{sign}z{form.removeprefix('+')}}"


def _interval(mean: float | None, low: float | None, high: float | None, form: str) -> str:
    """An interval around a mean: half its width where it reaches as far to both sides, as written, else its ends."""
    if mean is None or pd.isna(low) or pd.isna(high):
        return ""
    below, above = (f"{side:{form.removeprefix('+')}}" for side in (mean - low, high - mean))
    return f"± {below}" if below == above else f"[{_written(low, form)}, {_written(high, form)}]"


def stars(p: float | None) -> str:
    """What a p below 0.05 or 0.01 is marked with."""
    return next((mark for level, mark in _LEVELS if p is not None and p < level), "")


def no_formula(value: Any) -> Any:
    """A cell with an apostrophe before what a spreadsheet would compute."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", " ")  # which csv does not quote, and some take for the end of a row
    # Some pass over blanks, and over marks that nobody sees.
    seen = next((letter for letter in text if letter.isprintable() and not letter.isspace()), "")
    return f"'{text}" if normalize("NFKC", seen).startswith(_FORMULA) else text
