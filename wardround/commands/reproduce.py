"""``wardround reproduce``: the published tables again, cell by cell, from the authors' released files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wardround.commands.options import a_file
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from wardround.analysis.reproduction import Cell, Reproduction
    from wardround.tables.table import Table


def reproduce(
    paper: Annotated[Literal["aie", "medpmc", "ai_hospital"], typer.Argument(help="Whose tables.")],
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A clone of the authors' repository.")],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write every cell here, at full precision.", callback=a_file),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page here.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write the table here as Markdown.")
    ] = None,
    terms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="AI Hospital's ICD-10 terms.", show_default="the first .xls in SRC"),
    ] = None,
    by: Annotated[Literal["turn"] | None, typer.Option(help="AIE's simulators by round, not their means.")] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(metavar="IDS", help="Cases that ours do not count, by commas (AIE, Med-PMC).")
    ] = None,
) -> None:
    """Every printed cell beside ours, and why they differ.

    Ours are computed as published and soundly, each with its difference. Files are told by their form and doctors by
    the names in their paths; cells without a file are counted, not guessed.
    """
    import json

    from wardround.analysis.reproduction import reproduce as compute
    from wardround.report.pages import one_table_page
    from wardround.store.provenance import write_whole
    from wardround.tables.terminal import print_table

    left_out = {one.strip() for given in leave_out or () for one in given.split(",") if one.strip()}
    found = compute(paper, source, terms, by_turn=by == "turn", leave_out=left_out)
    table = _table(paper, found)
    rows = [_row(cell) for cell in found.cells]
    content = {"paper": paper, "cells": rows, "files": found.files, "notes": list(table.notes)}
    for file, text in (
        (json_file, json.dumps(content, ensure_ascii=False, indent=1) + "\n"),
        (html, one_table_page(table)),
        (markdown, _markdown(table)),
    ):
        if file is not None:
            write_whole(file, text)
    print_table(table)
    for row, files in found.files.items():
        echo(f"{row}: {', '.join(files)}")


def _row(cell: "Cell") -> dict[str, Any]:
    told = {name: getattr(cell, name) for name in ("table", "row", "column", "paper", "ours", "same", "sound", "n")}
    return {**told, "reason": cell.reason if cell.ours is not None else "no file of this doctor"}


def _table(paper: str, found: "Reproduction") -> "Table":
    from wardround.tables.table import Column, Table

    run = [cell for cell in found.cells if cell.ours is not None]
    columns = [
        Column("table", "Table", key=True),
        Column("row", "Doctor", key=True),
        Column("column", "Column", key=True),
        Column("paper", "Paper"),
        Column("shown", "Ours, as published"),
        Column("difference", "Difference", form="+.2f"),
        Column("sound", "Ours, sound", form=".2f"),
        Column("n", "n"),
        Column("reason", "Reason"),
    ]
    rows: list[Mapping[str, Any]] = [
        {
            **_row(cell),
            "paper": f"{cell.paper:.{cell.digits}f}",
            "shown": f"{cell.shown:.{cell.digits}f}",
            "difference": 0.0 if cell.same or cell.shown is None else cell.shown - cell.paper,
        }
        for cell in run
    ]
    same = sum(cell.same for cell in run)
    notes = [
        f"{same} of {len(run)} cells are as printed; {len(found.cells) - len(run)} more have no file in the source."
    ]
    for table in dict.fromkeys(cell.table for cell in found.cells):
        lacking = dict.fromkeys(cell.row for cell in found.cells if cell.table == table and cell.ours is None)
        if lacking:
            notes.append(f"{table}, without a file: {', '.join(lacking)}.")
    return Table(f"reproduction-{paper}", f"Published cells of {paper}", columns, rows, [*notes, *found.notes])


def _markdown(table: "Table") -> str:
    from wardround.tables.table import as_markdown

    rows = [[cell.text for cell in line] for line in table.lines]
    drawn = as_markdown([column.title for column in table.columns], rows)
    return "\n".join([drawn, "", *(f"- {note}" for note in table.notes), ""])
