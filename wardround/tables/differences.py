"""Paired differences between runs of the same cases: what ``wardround compare`` prints and writes."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.metrics.comparison import PairedDifference, holm, paired_difference
from wardround.analysis.summary import case_scores, columns_of
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Cell, Column, Measured, Table


@dataclass(frozen=True)
class Difference:
    """One run's score minus the first run's; ``corrected`` is the permutation test's p by Holm."""

    found: PairedDifference
    corrected: float | None


def check_comparable(runs: Sequence[RecordedRun]) -> None:
    """Refuse runs that cannot be set side by side.

    Raises:
        ConfigurationError: fewer than two, one without results, or different suites.
    """
    if len(runs) < 2:
        raise ConfigurationError("compare needs at least two run directories")
    if empty := [run for run in runs if not run.results]:
        raise ConfigurationError(f"{empty[0].path}: holds no results yet; run it first")
    if len({run.suite.name for run in runs}) > 1:
        scored = ", ".join(f"{run.path} by {run.suite.name}" for run in runs)
        raise ConfigurationError(f"only runs of one suite can be compared: {scored}")


def differences(run: RecordedRun, first: RecordedRun) -> dict[str, Difference]:
    """The difference of every score, case by case over the cases that both runs scored."""
    one, other = case_scores(run.results, run.suite), case_scores(first.results, first.suite)
    found = {name: paired_difference(one[name], other[name]) for name in columns_of(run.suite)}
    corrected = holm({name: difference.permutation_p for name, difference in found.items()})
    return {name: Difference(difference, corrected[name]) for name, difference in found.items()}


def differences_table(runs: Sequence[RecordedRun], found: Sequence[dict[str, Difference]]) -> Table:
    """All differences to the first run in one table, a row a score.

    Args:
        runs: the first is the baseline.
        found: of each of the others.
    """
    first = runs[0]
    titles = columns_of(first.suite)
    digits = 3 if first.suite.averaged else 2
    rows: list[list[Cell]] = []
    for run, of_run in zip(runs[1:], found, strict=True):
        for name, difference in of_run.items():
            cells = (
                Measured(first.estimates[name]),
                Measured(run.estimates[name]),
                Measured(difference.found.difference),
            )
            p_values = (difference.found.permutation_p, difference.corrected, difference.found.wilcoxon_p)
            rows.append([run.name, titles[name], *cells, *p_values])
    columns = [
        Column("run", "Run", key=True),
        Column("score", "Score", key=True),
        Column("baseline", first.name, digits=digits, measured=True),
        Column("value", "Run", digits=digits, measured=True),
        Column("difference", "Difference", digits=digits, measured=True),
        Column("p", "p", digits=3),
        Column("p_holm", "p (Holm)", digits=3),
        Column("p_wilcoxon", "p (Wilcoxon)", digits=3),
    ]
    notes = [
        "Differences are paired over the cases that both have; ± is half the width of the 95 % bootstrap interval.",
        "p: paired permutation test; Holm's correction is over the scores of a run.",
        *(f"{run.name}: {counts(run)}." for run in runs),
    ]
    return Table("comparison", f"Differences to {first.name}", columns, rows, notes)


def counts(run: RecordedRun) -> str:
    """How many cases of a run were attempted, scored, stopped at a limit, and failed."""
    limited = sum(result.limited for result in run.results)
    failed = len(run.results) - len(run.scored)
    return f"{len(run.results)} attempted, {len(run.scored)} scored ({limited} stopped at a limit), {failed} failed"
