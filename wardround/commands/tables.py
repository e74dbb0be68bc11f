"""``wardround tables``: make tables and figures of runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import check_known
from wardround.printing import echo
from wardround.tables.names import TABLE_NAMES, USUAL

if TYPE_CHECKING:
    from wardround.tables.making import Made


def tables(
    runs: Annotated[
        list[Path], Argument(metavar="RUN", help="Run directories or sweep directories; the first run is the baseline.")
    ],
    table: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help=f"Table to print: {', '.join(TABLE_NAMES)}; may be repeated.",
            show_default=f"those of {', '.join(USUAL)} that fit the runs",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "-o", "--out", metavar="DIR", help="Also write the tables to this directory, as CSV, LaTeX and figures."
        ),
    ] = None,
) -> None:
    """Print tables of runs in the layout of the papers."""
    from wardround.store.recorded_run import find_runs
    from wardround.tables.making import make_tables, write_tables

    check_known("--table", table or (), TABLE_NAMES)
    results = make_tables(find_runs(runs), table or USUAL)
    if refused := [one for one in results if one.reason and table]:
        refuse(f"--table {refused[0].name}: {refused[0].reason}")
    if out is not None:
        write_tables((table for one in results for table in one.tables), out)
    tell_tables(results, out)


def tell_tables(made: "Sequence[Made]", out: Path | None) -> None:
    """Print tables, and where they were written, if they were."""
    from wardround.tables.terminal import print_table

    for table in (table for one in made for table in one.tables):
        print_table(table)
        echo("")
    if out is not None:
        echo(f"Tables: {out}")
