"""``wardround compare``: paired differences between runs of the same cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wardround.store.recorded_run import RecordedRun
    from wardround.tables.differences import Difference

BAD_INPUT = 2


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN ...", help="Run directories; the first is the baseline.")
    ],
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the differences here.")] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", metavar="FILE", help="Also write the differences here, as a table.")
    ] = None,
) -> None:
    """The scores of runs side by side, and each run's paired difference to the first, with intervals and tests.

    Differences are taken case by case over the cases that both runs scored; p-values are of the paired permutation
    test, corrected by Holm over the scores of a run.
    """
    from wardround.config.experiment import ConfigurationError
    from wardround.store.provenance import write_whole
    from wardround.store.recorded_run import find_runs
    from wardround.tables.csv_file import as_csv
    from wardround.tables.differences import check_comparable, differences, differences_table
    from wardround.tables.latex import as_latex

    try:
        found = find_runs(runs)
        check_comparable(found)
        others = [differences(run, found[0]) for run in found[1:]]
        table = differences_table(found, others)
        for file, text in ((csv, as_csv(table)), (latex, as_latex(table))):
            if file is not None:
                write_whole(file, text)
    except (ConfigurationError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    _print(found, others)


def _print(runs: "Sequence[RecordedRun]", others: "Sequence[Mapping[str, Difference]]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from wardround.analysis.summary import columns_of
    from wardround.commands.printing import printable
    from wardround.tables.differences import counts

    console = Console()
    titles = columns_of(runs[0].suite)
    table = Table("score", title="Means", title_justify="left")
    for run in runs:
        table.add_column(Text(printable(run.name)))
    for name, title in titles.items():
        means = [run.estimates[name].mean for run in runs]
        table.add_row(title, *("-" if mean is None else f"{mean:.4f}" for mean in means))
    console.print(table)
    for run in runs:
        console.print(Text(printable(f"{run.name}: {counts(run)}")))
    for run, of_run in zip(runs[1:], others, strict=True):
        table = Table(
            "score", "difference", "95 % interval", "cases", "p", "p (Holm)", "p (Wilcoxon)",
            title=Text(printable(f"{run.name} - {runs[0].name}")), title_justify="left",
        )  # fmt: skip
        for name, title in titles.items():
            difference = of_run[name]
            estimate = difference.found.difference
            p_values = (difference.found.permutation_p, difference.corrected, difference.found.wilcoxon_p)
            table.add_row(
                title,
                "-" if estimate.mean is None else f"{estimate.mean:+.4f}",
                "-" if estimate.ci95 is None else f"{estimate.ci95[0]:+.3f} to {estimate.ci95[1]:+.3f}",
                str(estimate.n),
                *("-" if p is None else f"{p:.3g}" for p in p_values),
            )
        console.print(table)
