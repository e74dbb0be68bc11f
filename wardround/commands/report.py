"""``wardround report``: write a run as one HTML page."""

from pathlib import Path
from typing import Annotated

from typer import Option

from wardround.commands.options import Runs
from wardround.printing import echo, reason


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Also write this file: one page that compares all runs, or the page of one run. A run directory that "
            "cannot be written is then left as it is.",
        ),
    ] = None,
    cases: Annotated[
        int, Option(min=0, metavar="N", help="Show the first N cases, and the first N failed cases, in full.")
    ] = 20,
) -> None:
    """Write an HTML page, report.html, into each run directory.

    The page needs nothing but a browser. For a sweep, a page that compares all its runs is also written to the sweep
    directory; for several runs, to the file given with -o.
    """
    from wardround.report.pages import REPORT, report_page, write_overview
    from wardround.store.provenance import write_whole
    from wardround.store.recorded_run import find_runs

    found, written = find_runs(runs), []
    for run in found:
        page, file = report_page(run, cases), run.path / REPORT
        try:
            write_whole(file, page)
            written.append(file)
        except OSError as error:
            if out is None:
                raise
            echo(f"{file}: not written ({reason(error)})", err=True)
    if out is None and len(runs) == 1 and len(found) > 1:
        out = runs[0] / REPORT
    if out is not None and len(found) > 1:
        write_overview(found, out)
        written.append(out)
    elif out is not None and out.resolve() != (found[0].path / REPORT).resolve():
        write_whole(out, page)
        written.append(out)
    for file in written:
        echo(f"Report: {file}")
