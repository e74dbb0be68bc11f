"""``wardround report``: a run as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.options import Runs
from wardround.commands.printing import echo


def report(
    runs: Runs,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where to write one page over all runs.")
    ] = None,
    cases: Annotated[
        int, typer.Option(min=0, help="Show the first so many cases in full, and as many failed ones.")
    ] = 20,
) -> None:
    """Write a run's page, report.html, into its directory.

    It needs nothing but a browser.

    Several runs also get a page that sets them side by side: in the sweep's directory, or where -o says.
    """
    from wardround.report.pages import REPORT, write_overview, write_report
    from wardround.store.recorded_run import find_runs

    found = find_runs(runs)
    written = [write_report(run, cases) for run in found]
    if out is None and len(runs) == 1 and len(found) > 1:
        out = runs[0] / REPORT
    if out is not None:
        written.append(write_overview(found, out))
    for file in written:
        echo(f"Report: {file}")
