"""``wardround report``: write a run as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.options import Runs
from wardround.printing import echo


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Also write this file: one page that compares all runs, or the page of one run.",
        ),
    ] = None,
    cases: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show the first N cases, and the first N failed cases, in full.")
    ] = 20,
) -> None:
    """Write an HTML page, report.html, into each run directory.

    The page needs nothing but a browser. For a sweep, a page that compares all its runs is also written to the sweep
    directory; for several runs, to the file given with -o.
    """
    from wardround.report.pages import REPORT, write_overview, write_report
    from wardround.store.provenance import write_whole
    from wardround.store.recorded_run import find_runs

    found = find_runs(runs)
    written = [write_report(run, cases) for run in found]
    if out is None and len(runs) == 1 and len(found) > 1:
        out = runs[0] / REPORT
    if out is not None and len(found) > 1:
        written.append(write_overview(found, out))
    elif out is not None:
        write_whole(out, written[0].read_text("utf-8"))
        written += [out] if out.resolve() != written[0].resolve() else []
    for file in written:
        echo(f"Report: {file}")
