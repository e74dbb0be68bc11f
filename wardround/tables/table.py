"""A table of results: its numbers as a data frame and CSV, and its cells as people read them."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pandas as pd

from cases.validation import InputError
from scoring.metrics.statistics import Estimate
from wardround.analysis.notes import few_cases_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "-"
P_VALUE = "p"  # the form of p values: three decimals, but a very small one is not shown as 0
SPREAD = "±: half-width of the 95 % interval; an asymmetric interval is given by its ends in brackets"
IN_WORDS = "words; in Chinese, characters"  # the unit of the lengths of turns
_NARROW = "narrow"  # the part of an estimate whose interval is of too few cases
_LEVELS = ((0.01, "**"), (0.05, "*"))  # the marks of p values below a level
_NUMBER = re.compile(r"[-+±<>≤≥$]? ?\.?\d")
_FORMULA_STARTS = tuple("=+-@")  # a cell that starts so is a formula to a spreadsheet, in full width or small too


class DoesNotFitError(InputError):
    """A table that cannot be made of these runs; the message gives the reason."""


def measured(estimates: Mapping[str, Estimate], **more: Mapping[str, float | None]) -> dict[str, float | None]:
    """Flatten estimates into a row: for each, its mean, the ends of its interval, and its number of cases.

    An interval that is too narrow has a part ``narrow`` besides, for the table's footnote.

    ``more`` adds further parts of each, such as ``p``.
    """
    row: dict[str, float | None] = {}
    for name, found in estimates.items():
        low, high = found.ci95 or (None, None)
        parts = {"mean": found.mean, "low": low, "high": high, "n": found.n}
        parts |= {_NARROW: 1.0} if found.narrow else {}
        parts |= {part: values.get(name) for part, values in more.items()}
        row |= {f"{name}_{part}": value for part, value in parts.items()}
    return row


@dataclass(frozen=True)
class Column:
    """A visible column of a table."""

    name: str  # of the frame's column, or of an estimate flattened by ``measured``
    title: str  # for people
    group: str = ""  # a title over several adjacent columns
    form: str = ".2f"  # format spec of numbers that are not integers
    key: bool = False  # identifies what a row is about; left-aligned, and not repeated in rows below
    mean: bool = False  # whether it is a mean with an interval, and stars if it has a p value
    ranked: bool = False  # whether the highest and second mean are marked
    ends: tuple[float, float] | None = None  # lowest and highest possible value; None if unknown


def alike(titles: Mapping[str, str], group: str = "", **same: Any) -> list[Column]:
    """Return columns that are alike in all but their names and titles."""
    return [Column(name, title, group, **same) for name, title in titles.items()]


def key_columns(*names: str) -> list[Column]:
    """Return key columns that are titled by their names."""
    return alike({name: name.capitalize() for name in names}, key=True)


@dataclass(frozen=True)
class Shown:
    """A cell as text: the number, its interval (± half its width, or its ends), stars, whether best or second."""

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
    columns: Sequence[Column]  # the visible columns in order, keys first
    rows: Sequence[Mapping[str, Any]]  # the values by column name, in the order of a CSV file
    notes: Sequence[str] = ()  # what a reader must know to read the numbers, one sentence each
    caption: str = ""  # a sentence for print
    # indices of rows for comparison only, which are never marked as best or second
    beside: Collection[int] = ()
    # indices of rows, each with that of the row that bounds it from below; what is marked must be best in both
    bounds: Mapping[int, int] = field(default_factory=dict)
    # those of the notes that name offline rules; they are added to the CSV file and the figure too
    by_rules: Sequence[str] = ()
    pictures: "Mapping[str, Callable[[Table], Figure]]" = field(default_factory=dict)  # drawing functions by file name

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a data frame; integers stay integers next to missing values."""
        return pd.DataFrame(list(map(_told, self.rows)), dtype=object)

    @property
    def csv(self) -> str:
        """The table as CSV: plain numbers at full precision, empty cells for missing values.

        If offline rules took part, each row says so in a last column, ``by_rules``. A text that a spreadsheet would
        take for a formula is prefixed with an apostrophe.
        """
        rule_note = {"by_rules": " ".join(self.by_rules)} if self.by_rules else {}
        rows = [
            {no_formula(name): no_formula(value) for name, value in {**_told(row), **rule_note}.items()}
            for row in self.rows
        ]
        return pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n")

    @property
    def footnotes(self) -> list[str]:
        """The notes, the first on how intervals are written if a cell has one, and which are too narrow."""
        has_spread = any(cell.spread for line in self.lines for cell in line)
        return [*([f"{SPREAD}."] if has_spread else []), *self._few_cases_notes(), *self.notes]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The group titles from left to right, each with the number of columns that it spans."""
        return [(title, len(list(same))) for title, same in groupby(column.group for column in self.columns)]

    @cached_property
    def lines(self) -> list[list[Shown]]:
        """The rows as drawn: a key that repeats the row above is left blank."""
        columns = [self._shown(column) for column in self.columns]
        lines = [list(line) for line in zip(*columns, strict=True)]
        keys = self.frame[[column.name for column in self.columns if column.key]]
        for line, repeated in zip(lines, keys.eq(keys.shift()).cumprod(axis=1).sum(axis=1), strict=True):
            line[: int(repeated)] = [Shown("")] * int(repeated)
        return lines

    @property
    def left(self) -> list[bool]:
        """For each column whether it is left-aligned: keys and text are, numbers are not."""
        columns = zip(*self.lines, strict=True) if self.rows else ((),) * len(self.columns)
        return [
            column.key or not of_numbers(cell.text for cell in cells)
            for column, cells in zip(self.columns, columns, strict=True)
        ]

    def points(self, name: str) -> pd.DataFrame:
        """Return the known means of a column by row, with their intervals' ends (the mean itself if there is none)."""
        parts = self.frame[[f"{name}_mean", f"{name}_low", f"{name}_high"]].astype(float)
        parts.columns = pd.Index(["mean", "low", "high"])
        return parts.dropna(subset="mean").ffill(axis=1)

    def _shown(self, column: Column) -> list[Shown]:
        if not column.mean:
            return [Shown(as_text(value, column.form)) for value in self.frame[column.name]]
        means = self.frame[f"{column.name}_mean"]
        ends = zip(self.frame[f"{column.name}_low"], self.frame[f"{column.name}_high"], strict=True)
        ranks = self._ranks(means)
        # With one row, or if all are equal, none is highest; nor is the lower of two marked as second.
        n_ranks = ranks.nunique() if column.ranked else 0
        bounded = means.copy()
        bounded.update(means[[*self.bounds.values()]].set_axis([*self.bounds]))  # where there is a bound
        ranks = ranks.where(ranks == self._ranks(bounded).reindex(ranks.index))  # all cases of a row may have failed
        p_values = self.frame.get(f"{column.name}_p", [None] * len(means))
        return [
            Shown(
                as_text(mean, column.form),
                _interval(mean, low, high, column.form),
                stars(p),
                n_ranks > 1 and ranks.get(place) == 1,
                n_ranks > 2 and ranks.get(place) == 2,
            )
            for place, (mean, (low, high), p) in enumerate(zip(means, ends, p_values, strict=True))
        ]

    def _few_cases_notes(self) -> list[str]:
        """Warn of the shown intervals that are of too few cases; only columns with a title of their own are named."""
        narrow = {name.removesuffix(f"_{_NARROW}") for row in self.rows for name in row if name.endswith(f"_{_NARROW}")}
        shown = [column for column in self.columns if column.name.removesuffix("_low") in narrow]
        titles = [f"{each.title} ({each.group})" if each.group else each.title for each in shown if each.mean]
        return [few_cases_note(titles)] if shown else []

    def _ranks(self, means: "pd.Series[Any]") -> "pd.Series[float]":
        """Return the ranks of a column's means, 1 for the highest, without rows for comparison only."""
        ranked = means.drop(index=list(self.beside)).dropna().astype(float)
        return ranked.rank(method="dense", ascending=False)


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row, without what is only for a footnote."""
    return {name: value for name, value in row.items() if not name.endswith(f"_{_NARROW}")}


def of_numbers(cells: Iterable[str]) -> bool:
    """Whether at least half of a column's non-empty cells are numbers, which are right-aligned."""
    filled = [cell for cell in cells if cell not in ("", NOTHING)]
    return 2 * sum(bool(_NUMBER.match(cell)) for cell in filled) >= len(filled)


def as_markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return cells as a Markdown table."""
    escaped = [[cell.replace("|", "/") for cell in row] for row in rows]
    rule = ["---:" if place and of_numbers(row[place] for row in escaped) else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *escaped))


def as_text(value: Any, form: str) -> str:
    """Format a value for people: a dash if it is missing, and integers and text as they are."""
    if pd.isna(value):
        return NOTHING
    return _format_number(value, form) if isinstance(value, float) else str(value)


def _format_number(number: float, form: str) -> str:
    """Format a number; what rounds to zero has no minus sign."""
    if form == P_VALUE:
        return "<0.001" if number < 0.0005 else f"{number:.3f}"
    sign = form[: form.startswith("+")]
    return f"{number:{sign}z{form.removeprefix('+')}}"


def _interval(mean: float | None, low: float | None, high: float | None, form: str) -> str:
    """Format an interval: half its width if both sides are equal as written, otherwise its ends."""
    if mean is None or pd.isna(low) or pd.isna(high):
        return ""
    below, above = (_format_number(side, form.removeprefix("+")) for side in (mean - low, high - mean))
    return f"± {below}" if below == above else f"[{_format_number(low, form)}, {_format_number(high, form)}]"


def stars(p: float | None) -> str:
    """Return the mark of a p value below 0.05 or 0.01."""
    return next((mark for level, mark in _LEVELS if p is not None and p < level), "")


def no_formula(value: Any) -> Any:
    """Prefix a cell with an apostrophe if a spreadsheet would compute it."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", " ")  # csv does not quote it, and some programs take it for the end of a row
    # Some spreadsheets skip blanks and invisible characters.
    first_visible = next((letter for letter in text if letter.isprintable() and not letter.isspace()), "")
    return f"'{text}" if normalize("NFKC", first_visible).startswith(_FORMULA_STARTS) else text
