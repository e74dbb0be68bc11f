"""``wardround report``: write runs as HTML pages."""

from typing import Annotated

import typer

from wardround.commands.options import Runs
from wardround.commands.printing import echo


def report(
    runs: Runs,
    cases: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show the first N cases, and the first N failed cases, in full.")
    ] = 20,
) -> None:
    """Write an HTML page, report.html, into each run directory. The page needs nothing but a browser."""
    from wardround.report.pages import write_report
    from wardround.store.recorded_run import find_runs

    for run in find_runs(runs):
        echo(f"Report: {write_report(run, cases)}")
