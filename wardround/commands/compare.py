"""``wardround compare``: test the paired differences between runs of the same cases."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wardround.commands.exit_codes import refuse


def compare(
    runs: Annotated[
        list[Path], Argument(metavar="RUN", help="Two or more run directories; the first is the baseline.")
    ],
    csv: Annotated[Path | None, Option(metavar="FILE", help="Also write the differences to this file, as CSV.")] = None,
    latex: Annotated[
        Path | None, Option(metavar="FILE", help="Also write the differences to this file, as a LaTeX table.")
    ] = None,
    margin: Annotated[
        float | None,
        Option(
            metavar="SCORE",
            help="Largest difference that does not matter, for the equivalence test.",
            show_default="a twentieth of the scale",
        ),
    ] = None,
) -> None:
    """Compare the scores of runs, with paired tests.

    Differences are computed case by case, over the cases that both runs scored. The p-values are those of the paired
    permutation test, corrected over the columns of all runs (Holm, and false discovery rate). Also printed: equivalence
    within a margin (TOST), and how many cases would be needed to detect such a difference.
    """
    from wardround.store.manifest import is_run
    from wardround.store.provenance import write_whole
    from wardround.store.recorded_run import find_runs
    from wardround.tables.differences import brief_tables, check_comparable, differences_table
    from wardround.tables.latex import as_latex
    from wardround.tables.terminal import print_table

    if files := [path for path in runs if path.is_file()]:
        folder = files[0].parent
        refuse(
            f"{files[0]}: expected a run directory, not a file; `wardround score SUITE RUN --against FILE` compares "
            "transcripts" + (f"; {folder} stands for all runs in it" if any(map(is_run, folder.iterdir())) else "")
        )
    if csv is not None and latex is not None and csv.resolve() == latex.resolve():
        refuse(f"--latex {latex}: is the file of --csv, too; name another file")
    found = find_runs(runs)
    check_comparable(found, margin)
    for run in found:
        run.tell_foreign()
    table = differences_table(found, margin)
    for file, text in ((csv, table.csv), (latex, as_latex(table))):
        if file is not None:
            write_whole(file, text)
    for brief in brief_tables(found, table, margin):
        print_table(brief)
