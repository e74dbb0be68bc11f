"""``wardround reproduce``: recompute the published tables, cell by cell, from the authors' released files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from wardround.commands.options import a_file
from wardround.commands.printing import echo


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
    from wardround.analysis.reproduction import reproduction_table, row_of
    from wardround.report.pages import environment
    from wardround.store.provenance import write_whole
    from wardround.tables.table import as_markdown
    from wardround.tables.terminal import print_table

    left_out = {one.strip() for given in leave_out or () for one in given.split(",") if one.strip()}
    found = compute(paper, source, terms, by_turn=by == "turn", leave_out=left_out)
    table = reproduction_table(paper, found)
    drawn = as_markdown(
        [column.title for column in table.columns], [[cell.text for cell in row] for row in table.lines]
    )
    rows = [row_of(cell) for cell in found.cells]
    content = {"paper": paper, "cells": rows, "files": found.files, "notes": list(table.notes)}
    for file, text in (
        (json_file, json.dumps(content, ensure_ascii=False, indent=1) + "\n"),
        (html, environment().get_template("one_table.html.jinja").render(table=table)),
        (markdown, "\n".join([drawn, "", *(f"- {note}" for note in table.notes), ""])),
    ):
        if file is not None:
            write_whole(file, text)
    print_table(table)
    for row, files in found.files.items():
        echo(f"{row}: {', '.join(files)}")
