"""Tables on a terminal."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import rich.table
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from wardround.commands.printing import printable
from wardround.store.provenance import write_whole
from wardround.tables.table import Shown, Table

_PRINTED = 20  # rows of a table


def print_table(table: Table) -> None:
    """Print a table and its notes; away from a terminal as wide as it is, so that no number is broken."""
    console = Console(highlight=False)
    drawn = rich_table(table)
    if not sys.stdout.isatty():
        wide = Console(width=1000)
        console = Console(highlight=False, width=max(80, Measurement.get(wide, wide.options, drawn).maximum))
    console.print(drawn)
    for note in table.notes:
        console.print(Text(printable(note)))


def tell(tables: Sequence[Table], csv: Path | None = None, json_file: Path | None = None) -> None:
    """Print tables, the first rows of long ones, and write them whole where that is wanted.

    Raises:
        OSError: they cannot be written.
    """
    for table in tables:
        print_table(replace(table, rows=table.rows[:_PRINTED]))
        if csv is not None:
            csv.mkdir(parents=True, exist_ok=True)
            write_whole(csv / f"{table.name}.csv", table.csv)
    if json_file is not None:
        content = {table.name: list(table.rows) for table in tables}
        write_whole(json_file, json.dumps(content, ensure_ascii=False, indent=2))


def rich_table(table: Table) -> rich.table.Table:
    """The table as Rich draws it."""
    drawn = rich.table.Table(title=Text(printable(table.title)), title_justify="left")
    for column in table.columns:
        heading = f"{column.group}\n{column.title}" if column.group else column.title
        drawn.add_column(Text(printable(heading)), justify="left" if column.key else "right", vertical="middle")
    for line in table.lines:
        drawn.add_row(*(_text(cell) for cell in line))
    return drawn


def _text(cell: Shown) -> Text:
    text = Text(printable(cell.text), style="bold" if cell.best else "underline" if cell.second else "")
    text.append(f" {cell.spread}" if cell.spread else "", style="not bold not underline")
    text.append(cell.mark, style="not bold not underline")
    return text
