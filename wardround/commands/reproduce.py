"""``wardround reproduce``: recompute the published tables, cell by cell, from the authors' released files."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import JsonNumbers, separated
from wardround.printing import echo


def reproduce(
    paper: Annotated[Literal["aie", "medpmc", "ai_hospital"], Argument(help="Paper whose tables are recomputed.")],
    source: Annotated[Path, Argument(metavar="SRC", help="Clone of the authors' repository.")],
    json_file: JsonNumbers = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Also write an HTML page to this file.")] = None,
    markdown: Annotated[
        Path | None, Option(metavar="FILE", help="Also write the table to this file, as Markdown.")
    ] = None,
    terms: Annotated[
        Path | None,
        Option(metavar="FILE", help="File of AI Hospital's ICD-10 terms.", show_default="the first .xls in SRC"),
    ] = None,
    by: Annotated[Literal["turn"] | None, Option(help="Show AIE's simulators by round instead of their means.")] = None,
    leave_out: Annotated[
        list[str] | None,
        Option(metavar="IDS", help="Ids of cases to leave out of our figures, separated by commas (AIE, Med-PMC)."),
    ] = None,
) -> None:
    """Recompute the papers' tables from the authors' files.

    Each printed cell is shown beside our figures in paper mode and in sound mode, with the differences. Files are
    recognised by their format and doctors by the names in their paths. Cells without a file are counted, never guessed.
    """
    import json

    from wardround.report.pages import environment
    from wardround.reproduction.reproduce import reproduce as compute
    from wardround.reproduction.reproduce import reproduction_table, row_of
    from wardround.store.provenance import write_whole
    from wardround.tables.table import as_markdown
    from wardround.tables.terminal import print_table

    found = compute(paper, source, terms, by_turn=by == "turn", leave_out=separated(leave_out))
    read = {(source / name).resolve() for names in found.files.values() for name in names}
    if over := [file for file in (json_file, html, markdown) if file is not None and file.resolve() in read]:
        refuse(f"{over[0]}: is an input file and would be overwritten; name another file")
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
