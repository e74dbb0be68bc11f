"""``wardround compare``: paired differences between runs of the same cases."""

from pathlib import Path
from typing import Annotated

import typer

BAD_INPUT = 2


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN ...", help="Run directories; the first is the baseline.")
    ],
) -> None:
    """The scores of runs side by side, and each run's paired difference to the first, with intervals and tests.

    Differences are taken case by case over the cases that both runs scored; p-values are of the paired permutation
    test, corrected by Holm over the scores of a run.
    """
    from rich.console import Console
    from rich.table import Table

    from evaluation.comparison import holm, paired_difference
    from experiments.configuration import ConfigurationError
    from experiments.rescoring import read_run
    from experiments.summary import TITLES, case_scores, summarise_results

    try:
        if len(runs) < 2:
            raise ConfigurationError("compare needs at least two run directories")
        results = [read_run(run)[1] for run in runs]
    except ConfigurationError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    summaries = [summarise_results(of_run) for of_run in results]
    console = Console()
    table = Table("score", *(run.name for run in runs), title="Means", title_justify="left")
    for name, title in TITLES.items():
        means = [summary["scores"][name]["mean"] for summary in summaries]
        table.add_row(title, *("-" if mean is None else f"{mean:.4f}" for mean in means))
    console.print(table)
    baseline = case_scores(results[0])
    for run, of_run in zip(runs[1:], results[1:], strict=True):
        other = case_scores(of_run)
        found = {name: paired_difference(other[name], baseline[name]) for name in TITLES}
        corrected = holm({name: difference.permutation_p for name, difference in found.items()})
        table = Table(
            "score", "difference", "95 % interval", "cases", "p", "p (Holm)", "p (Wilcoxon)",
            title=f"{run.name} - {runs[0].name}", title_justify="left",
        )  # fmt: skip
        for name, title in TITLES.items():
            estimate = found[name].difference
            p_values = (found[name].permutation_p, corrected[name], found[name].wilcoxon_p)
            table.add_row(
                title,
                "-" if estimate.mean is None else f"{estimate.mean:+.4f}",
                "-" if estimate.ci95 is None else f"{estimate.ci95[0]:+.3f} to {estimate.ci95[1]:+.3f}",
                str(estimate.n),
                *("-" if p is None else f"{p:.3g}" for p in p_values),
            )
        console.print(table)
