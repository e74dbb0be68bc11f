"""Tables on a terminal: text left, numbers right; a table wider than the terminal is split."""

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

from wardround.printing import printable
from wardround.store.provenance import write_json, write_whole
from wardround.tables.table import Shown, Table, of_numbers

_MAX_ROWS = 20  # rows printed per table
_NO_TERMINAL_WIDTH = 100_000  # columns if there is no terminal, so that no number is broken
_CELL_FRAME = 3  # columns that a cell takes besides its text
_MIN_TEXT_WIDTH = 12  # columns to which text may be wrapped


def print_table(table: Table) -> None:
    """Print a table and its notes."""
    grouped = [f"{_wrapped(column.group, cell_len(column.title))}\n{column.title}" for column in table.columns]
    headings = [heading.lstrip("\n") for heading in grouped]
    keys = sum(column.key for column in table.columns)
    print_rows(table.title, headings, [[_text(cell) for cell in line] for line in table.lines], table.left, keys)
    for note in table.footnotes:
        Console(highlight=False).print(Text(printable(note)))


def print_rows(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[Text | str]],
    left: Sequence[bool] | None = None,
    keys: int = 1,
) -> None:
    """Print a table of text cells, split into parts where the terminal is narrower.

    ``left`` gives the left-aligned columns; if None, it is inferred from the cells. The first ``keys`` columns are
    repeated in each part.
    """
    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS")
    console = Console(highlight=False, width=None if has_width else _NO_TERMINAL_WIDTH)
    cells = [[Text(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]
    columns = [[row[place] for row in cells] for place in range(len(headings))]
    left = left or [not of_numbers(cell.plain for cell in column) for column in columns]
    heads = [printable(heading) for heading in headings]
    widths = [max((_widest(cell.plain) for cell in column), default=0) for column in columns]
    if sum(max(_widest(head), width) + _CELL_FRAME for head, width in zip(heads, widths, strict=True)) < console.width:
        console.print(_as_rich_table(title, heads, columns, left))
        return
    # Text may be wrapped, a number may not.
    narrow = [
        head if is_left else _wrapped(head, width) for head, width, is_left in zip(heads, widths, left, strict=True)
    ]
    min_widths = [
        max(_longest_word(head), min(_MIN_TEXT_WIDTH, width) if is_left else width)
        for head, width, is_left in zip(narrow, widths, left, strict=True)
    ]
    for number, part in enumerate(_column_groups(min_widths, keys, console.width)):
        part_title = f"{title} (further columns)" if number else title
        chosen = [narrow[place] for place in part], [columns[place] for place in part], [left[place] for place in part]
        console.print(_as_rich_table(part_title, *chosen))


def print_and_write(tables: Sequence[Table], csv: Path | None = None, json_file: Path | None = None) -> None:
    """Print tables, only the first rows of long ones, and then optionally write them in full.

    Raises:
        OSError: they cannot be written.
    """
    try:
        for table in tables:
            more = len(table.rows) - _MAX_ROWS
            notes = [f"{more} further rows: write them with --csv or --json."] if more > 0 else []
            print_table(replace(table, rows=table.rows[:_MAX_ROWS], notes=[*notes, *table.notes]))
    finally:  # last, as a full disk takes the files, and not what was paid for; also if the reader (`head`) has gone
        if csv is not None:
            for table in tables:
                write_whole(csv / f"{table.name}.csv", table.csv)
        if json_file is not None:
            write_json(json_file, {table.name: list(table.rows) for table in tables}, indent=2)


def _as_rich_table(
    title: str, heads: Sequence[str], columns: Sequence[Sequence[Text]], left: Sequence[bool]
) -> rich.table.Table:
    rich_table = rich.table.Table(title=Text(printable(title)), title_justify="left")
    for head, is_left in zip(heads, left, strict=True):
        rich_table.add_column(
            Text(head),
            justify="left" if is_left else "right",
            vertical="middle",
            no_wrap=not is_left,
            overflow="fold",  # an ellipsis would take the place of the rest of a Chinese sentence
        )
    for row in zip(*columns, strict=True):
        rich_table.add_row(*row)
    return rich_table


def _column_groups(min_widths: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """Split columns into parts that fit the width, each starting with the key columns."""
    first = list(range(min(keys, len(min_widths) - 1)))
    parts: list[list[int]] = []
    for place in range(len(first), len(min_widths)):
        if parts and sum(min_widths[one] + _CELL_FRAME for one in [*parts[-1], place]) < width:
            parts[-1].append(place)
        else:
            parts.append([*first, place])
    return parts


def _wrapped(head: str, width: int) -> str:
    """Wrap a heading over numbers to their width, or that of its longest word."""
    width = max(width, _longest_word(head))
    return "\n".join(part for line in head.splitlines() for part in textwrap.wrap(line, width))


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _widest(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _text(cell: Shown) -> Text:
    text = Text(printable(cell.text), style="bold" if cell.best else "underline" if cell.second else "")
    text.append(f" {cell.spread}" if cell.spread else "", style="not bold not underline")
    text.append(cell.mark, style="not bold not underline")
    return text
