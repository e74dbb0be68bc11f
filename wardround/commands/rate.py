"""``wardround rate``: people judge the consultations of runs, blinded."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from wardround.commands.options import Browser, CsvFolder, JsonFile, Port, Runs
from wardround.commands.printing import echo


def rate(
    runs: Runs,
    scale: Annotated[
        Literal["mvme", "aie", "medpmc", "clini_eval", "pairwise", "misdiagnosis"],
        typer.Option(
            help="What is asked: the parts of the report (mvme), aspects of the consultation, points of the "
            "interview (clini_eval), which of two runs is better (pairwise), or what led to a diagnosis graded D."
        ),
    ] = "mvme",
    marks: Annotated[
        Path | None,
        typer.Option(
            "--marks", metavar="FILE", help="Where judgements are kept.", show_default="ratings.jsonl of the first run"
        ),
    ] = None,
    port: Port = 0,
    browser: Browser = True,
    summary: Annotated[
        bool, typer.Option("--summary", help="Serve nothing; print what has been judged so far.")
    ] = False,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Open a page on which people judge consultations, blinded.

    Each has an order of their own. Every choice is kept at once; several people may judge at a time, and go on later.
    Ctrl-C ends it and prints means, agreement (Krippendorff's alpha), correlation with the runs' scores, and where
    people disagree most.
    """
    from wardround.rating.agreement import tables_of
    from wardround.rating.items import items_of
    from wardround.rating.marks import FILE, Marks, read_marks
    from wardround.rating.server import Rating
    from wardround.store.recorded_run import find_runs
    from wardround.tables.terminal import tell

    found = find_runs(runs)
    file = marks or found[0].path / FILE
    kept = Marks(file)
    if not summary:
        server = Rating(items_of(found, scale), scale, kept, port)
        echo(f"Page: {server.address}\nJudgements: {file}\nCtrl-C ends it.", err=True)
        server.serve_until_interrupted(browser=browser)
    tables = tables_of(found, scale, read_marks(file))
    if not tables:
        echo(f"{file}: nothing of scale {scale} has been judged yet")
    tell(tables, csv, json_file)
