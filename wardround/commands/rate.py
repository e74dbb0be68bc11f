"""``wardround rate``: people judge the consultations of runs, blinded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.exits import exits, refuse
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wardround.rating.scales import Name
    from wardround.store.recorded_run import RecordedRun

_PRINTED = 20  # rows of a table


def rate(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Run directories, or a sweep's.", show_default=False)
    ],
    scale: Annotated[
        Literal["mvme", "aie", "medpmc", "clini_eval", "pairwise"],
        typer.Option(
            help="What is asked: the parts of the report (mvme), aspects of the consultation, points of the "
            "interview (clini_eval), or which of two runs is better."
        ),
    ] = "mvme",
    marks: Annotated[
        Path | None,
        typer.Option(
            "--marks", metavar="FILE", help="Where judgements are kept.", show_default="ratings.jsonl of the first run"
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback interface; 0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    summary: Annotated[
        bool, typer.Option("--summary", help="Serve nothing; print what has been judged so far.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Also write the tables here, as CSV.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the tables here.")
    ] = None,
) -> None:
    """Open a page on which people judge the runs' consultations, blinded and each in an order of their own.

    Every choice is kept at once; several people may judge at a time, and go on later. Ctrl-C ends it and prints means,
    agreement (Krippendorff's alpha), correlation with the runs' scores, and where people disagree most.
    """
    from wardround.rating.items import items_of
    from wardround.rating.marks import FILE, Marks
    from wardround.rating.server import Rating
    from wardround.store.recorded_run import find_runs

    with exits(OSError):
        found = find_runs(runs)
        file = marks or found[0].path / FILE
        kept = Marks(file)
        if not summary:
            try:
                server = Rating(items_of(found, scale), scale, kept, port)
            except OSError as error:
                refuse(f"port {port} cannot be used ({error.strerror}); name another with --port")
            echo(f"Page: {server.address}\nJudgements: {file}\nCtrl-C ends it.", err=True)
            server.serve_until_interrupted(browser=browser)
        _tell(found, scale, file, csv, json_file)


def _tell(runs: "Sequence[RecordedRun]", scale: "Name", file: Path, csv: Path | None, json_file: Path | None) -> None:
    """Print the tables, and write them where that is wanted."""
    import json
    from dataclasses import replace

    from wardround.rating.agreement import tables_of
    from wardround.rating.marks import read_marks
    from wardround.store.provenance import write_whole
    from wardround.tables.terminal import print_table

    tables = tables_of(runs, scale, read_marks(file))
    if not tables:
        echo(f"{file}: nothing of scale {scale} has been judged yet")
    for table in tables:
        print_table(replace(table, rows=table.rows[:_PRINTED]))
        if csv is not None:
            csv.mkdir(parents=True, exist_ok=True)
            write_whole(csv / f"{table.name}.csv", table.csv)
    if json_file is not None:
        write_whole(
            json_file, json.dumps({table.name: list(table.rows) for table in tables}, ensure_ascii=False, indent=2)
        )
