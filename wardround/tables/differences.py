"""Paired differences between runs of the same cases: what ``wardround compare`` prints and writes."""

from collections.abc import Iterator, Sequence
from typing import Any

from scoring.metrics.comparison import holm, paired_difference
from wardround.analysis.summary import case_scores
from wardround.config.experiment import ConfigurationError
from wardround.store.recorded_run import RecordedRun
from wardround.tables.scores import score_form
from wardround.tables.table import Column, Table, measured


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


def differences_table(runs: Sequence[RecordedRun]) -> Table:
    """Every score of each run minus the first run's, case by case over the cases that both scored, one per row."""
    first = runs[0]
    form = score_form(first.suite)
    columns = [
        Column("run", "Run", key=True),
        Column("score", "Score", key=True),
        Column("baseline", first.name, form=form, mean=True),
        Column("value", "Run", form=form, mean=True),
        Column("difference", "Difference", form=form, mean=True),
        Column("p", "p", form=".3f"),
        Column("p_holm", "p (Holm)", form=".3f"),
        Column("p_wilcoxon", "p (Wilcoxon)", form=".3f"),
    ]
    notes = [
        "Differences are paired over the cases that both have; ± is half the width of the 95 % bootstrap interval.",
        "p: paired permutation test; Holm's correction is over the scores of a run.",
        *(f"{run.name}: {counts(run)}." for run in runs),
    ]
    rows = [row for run in runs[1:] for row in _differences(run, first)]
    return Table("comparison", f"Differences to {first.name}", columns, rows, notes)


def brief_tables(runs: Sequence[RecordedRun], differences: Table) -> Iterator[Table]:
    """The same for a terminal: the means side by side, then each run's differences with their intervals."""
    titles = runs[0].suite.titles
    means = [
        {"score": title, **{str(place): run.estimates[name].mean for place, run in enumerate(runs)}}
        for name, title in titles.items()
    ]
    columns = [
        Column("score", "score", key=True),
        *(Column(str(place), run.name, form=".4f") for place, run in enumerate(runs)),
    ]
    yield Table("means", "Means", columns, means, [f"{run.name}: {counts(run)}" for run in runs])
    columns = [
        Column("score", "score", key=True),
        Column("difference_mean", "difference", form="+.4f"),
        Column("difference_low", "from", "95 % interval", "+.3f"),
        Column("difference_high", "to", "95 % interval", "+.3f"),
        Column("difference_n", "cases"),
        Column("p", "p", form=".3g"),
        Column("p_holm", "p (Holm)", form=".3g"),
        Column("p_wilcoxon", "p (Wilcoxon)", form=".3g"),
    ]
    for place, run in enumerate(runs[1:]):
        rows = differences.rows[place * len(titles) : (place + 1) * len(titles)]
        yield Table("differences", f"{run.name} - {runs[0].name}", columns, rows)


def counts(run: RecordedRun) -> str:
    """How many cases of a run were attempted, scored, stopped at a limit, and failed."""
    limited = sum(result.limited for result in run.results)
    failed = len(run.results) - len(run.scored)
    return f"{len(run.results)} attempted, {len(run.scored)} scored ({limited} stopped at a limit), {failed} failed"


def _differences(run: RecordedRun, first: RecordedRun) -> Iterator[dict[str, Any]]:
    one, other = case_scores(run.results, run.suite), case_scores(first.results, first.suite)
    titles = run.suite.titles
    found = {name: paired_difference(one[name], other[name]) for name in titles}
    corrected = holm({name: difference.permutation_p for name, difference in found.items()})
    for name, difference in found.items():
        means = {"baseline": first.estimates[name], "value": run.estimates[name], "difference": difference.difference}
        p_values = (difference.permutation_p, corrected[name], difference.wilcoxon_p)
        yield {
            "run": run.name,
            "score": titles[name],
            **measured(means),
            **dict(zip(("p", "p_holm", "p_wilcoxon"), p_values, strict=True)),
        }
