"""Tables on a terminal: text left, numbers right; what is wider than the terminal is folded."""

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from wardround.commands.printing import printable
from wardround.store.provenance import write_json, write_whole
from wardround.tables.table import Shown, Table, of_numbers

_PRINTED = 20  # rows of a table
_AWAY = 100_000  # columns where there is no terminal: no number is broken
_FRAME = 3  # columns that a cell takes beside its text
_LEAST = 12  # columns to which a text may be broken


def print_table(table: Table) -> None:
    """Print a table and its notes."""
    headings = [f"{column.group}\n{column.title}" if column.group else column.title for column in table.columns]
    keys = sum(column.key for column in table.columns)
    print_rows(table.title, headings, [[_text(cell) for cell in line] for line in table.lines], table.left, keys)
    for note in table.notes:
        Console(highlight=False).print(Text(printable(note)))


def print_rows(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[Text | str]],
    left: Sequence[bool] | None = None,
    keys: int = 1,
) -> None:
    """Print a table of cells in words: as wide as it is away from a terminal, folded where a terminal is narrower.

    Where it is not told which columns stand ``left``, what is in them tells. The first ``keys`` columns are said again
    in each part of a table that is folded.
    """
    console = Console(highlight=False)
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        console = Console(highlight=False, width=_AWAY)
    cells = [[Text(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]
    columns = [[row[place] for row in cells] for place in range(len(headings))]
    left = left or [not of_numbers(cell.plain for cell in column) for column in columns]
    heads = [printable(heading) for heading in headings]
    widths = [max((_widest(cell.plain) for cell in column), default=0) for column in columns]
    if sum(max(_widest(head), width) + _FRAME for head, width in zip(heads, widths, strict=True)) < console.width:
        console.print(_drawn(title, heads, columns, left))
        return
    # Text may be broken, a number may not.
    narrow = [head if stands else _broken(head, width) for head, width, stands in zip(heads, widths, left, strict=True)]
    least = [
        max(_word(head), min(_LEAST, width) if stands else width)
        for head, width, stands in zip(narrow, widths, left, strict=True)
    ]
    for number, part in enumerate(_parts(least, keys, console.width)):
        named = f"{title} (further columns)" if number else title
        chosen = [narrow[place] for place in part], [columns[place] for place in part], [left[place] for place in part]
        console.print(_drawn(named, *chosen))


def tell(tables: Sequence[Table], csv: Path | None = None, json_file: Path | None = None) -> None:
    """Print tables, the first rows of long ones, and write them whole where that is wanted.

    Raises:
        OSError: they cannot be written.
    """
    for table in tables:
        print_table(replace(table, rows=table.rows[:_PRINTED]))
        if csv is not None:
            write_whole(csv / f"{table.name}.csv", table.csv)
    if json_file is not None:
        write_json(json_file, {table.name: list(table.rows) for table in tables}, indent=2)


def _drawn(
    title: str, heads: Sequence[str], columns: Sequence[Sequence[Text]], left: Sequence[bool]
) -> rich.table.Table:
    drawn = rich.table.Table(title=Text(printable(title)), title_justify="left")
    for head, stands in zip(heads, left, strict=True):
        drawn.add_column(Text(head), justify="left" if stands else "right", vertical="middle", no_wrap=not stands)
    for row in zip(*columns, strict=True):
        drawn.add_row(*row)
    return drawn


def _parts(least: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """The places of columns that stand side by side, each part with those that say what a row is about."""
    first = list(range(min(keys, len(least) - 1)))
    parts: list[list[int]] = []
    for place in range(len(first), len(least)):
        if parts and sum(least[one] + _FRAME for one in [*parts[-1], place]) < width:
            parts[-1].append(place)
        else:
            parts.append([*first, place])
    return parts


def _broken(head: str, width: int) -> str:
    """A heading over numbers, in lines no wider than they or than its longest word."""
    width = max(width, _word(head))
    return "\n".join(part for line in head.splitlines() for part in textwrap.wrap(line, width))


def _word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _widest(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _text(cell: Shown) -> Text:
    text = Text(printable(cell.text), style="bold" if cell.best else "underline" if cell.second else "")
    text.append(f" {cell.spread}" if cell.spread else "", style="not bold not underline")
    text.append(cell.mark, style="not bold not underline")
    return text
