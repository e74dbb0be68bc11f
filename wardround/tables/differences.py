"""Paired differences of runs with the same cases (``wardround compare``)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.metrics.statistics import INTERVALS
from wardround.analysis.paired import Difference, differences, margin_of, p_with_failures, spare_columns, unlike
from wardround.config.experiment import ConfigurationError, flat
from wardround.store.recorded_run import RecordedRun
from wardround.tables.contrasts import changed, unshared_notes
from wardround.tables.scores import means_of, offline_notes, score_form, unscored_notes
from wardround.tables.table import P_VALUE, Column, Table, alike, as_text, key_columns, measured

_LEVEL = 0.05  # p below it is called significant
_PERCENT = "+.1f"
_TESTS = {
    "p": "p",
    "p_holm": "p (Holm)",
    "false_discovery": "FDR",
    "p_wilcoxon": "p (Wilcoxon)",
    "p_equivalence": "p (TOST)",
}


def check_comparable(runs: Sequence[RecordedRun], margin: float | None = None) -> None:
    """Refuse runs that cannot be compared, or not within this margin.

    Raises:
        ConfigurationError: fewer than two, one without results, different suites, or a margin that is no positive
            number.
    """
    if len(runs) < 2:
        raise ConfigurationError("compare needs at least two run directories")
    if empty := [run for run in runs if not run.results]:
        raise ConfigurationError(f"{empty[0].path}: has no results yet; run it first")
    if len({run.suite.name for run in runs}) > 1:
        scored = ", ".join(f"{run.path} by {run.suite.name}" for run in runs)
        raise ConfigurationError(f"only runs scored by the same suite can be compared: {scored}")
    if margin is not None and not 0 < margin < math.inf:
        raise ConfigurationError(f"margin {margin:g}: expected a number above 0, on the scale of the scores")


def differences_table(runs: Sequence[RecordedRun], margin: float | None = None) -> Table:
    """Tabulate every score of each run minus the first run's, over the cases that both scored.

    For ``margin`` see :func:`margin_of`.
    """
    first = runs[0]
    form = score_form(first.suite)
    columns = [
        *key_columns("run", "score"),
        *alike({"baseline": first.name, "value": "This run"}, form=form, mean=True),
        Column("difference", "Difference", form=f"+{form}", mean=True),
        Column("percent", "In %", form=_PERCENT),
        Column("difference_n", "Cases"),
        *alike(_TESTS, form=P_VALUE),
        Column("needed", "Needed"),
    ]
    failed = any(run.failed_as_wrong for run in runs)
    as_wrong = p_with_failures(runs) if failed else [{} for _ in runs[1:]]
    rows = [
        row
        for run, found, p_values in zip(runs[1:], differences(runs, margin), as_wrong, strict=True)
        for row in _rows(run, first, found, p_values, margin)
    ]
    notes = [*_notes(runs, rows, margin), *(f"{run.name}: {counts(run)}." for run in runs)]
    return Table("comparison", f"Differences to {first.name}", columns, rows, notes, by_rules=offline_notes(runs))


def brief_tables(runs: Sequence[RecordedRun], differences: Table, margin: float | None = None) -> Iterator[Table]:
    """Shorten the table for a terminal: the means side by side, then each run's differences with their intervals."""
    left_out = spare_columns(runs)
    titles = {name: title for name, title in runs[0].suite.titles.items() if name not in left_out}
    sides = [side for run in runs for side in means_of(run)]
    means = [
        {
            "score": title,
            **{str(at): found[name].mean if name in found else None for at, (_, found) in enumerate(sides)},
        }
        for name, title in titles.items()
    ]
    columns = [
        Column("score", "score", key=True),
        *(Column(str(at), name, form=".4f") for at, (name, _) in enumerate(sides)),
    ]
    yield Table("means", "Means", columns, means, [f"{run.name}: {counts(run)}" for run in runs])
    columns = [
        Column("score", "score", key=True),
        Column("difference_mean", "difference", form="+.4f"),
        *alike({"difference_low": "from", "difference_high": "to"}, "95 % interval", form="+.3f"),
        Column("difference_n", "cases"),
        *alike(_TESTS, form=P_VALUE),
        Column("needed", "needed"),
        Column("percent", "in %", form=_PERCENT),
    ]
    for run in runs[1:]:
        rows = [row for row in differences.rows if row["run"] == run.name and row["score"] in titles.values()]
        notes = _notes(runs, differences.rows, margin) if run is runs[-1] else []
        yield Table("differences", f"{run.name} - {runs[0].name}", columns, rows, notes)


def counts(run: RecordedRun) -> str:
    """Describe how many cases of a run were attempted, scored, stopped at a limit, and failed."""
    limited = sum(result.limited for result in run.results)
    return f"{len(run.results)} attempted, {len(run.scored)} scored ({limited} stopped at a limit), {run.failed} failed"


def _rows(
    run: RecordedRun,
    first: RecordedRun,
    found: Mapping[str, Difference],
    with_failures: Mapping[str, float | None],
    margin: float | None,
) -> Iterator[dict[str, Any]]:
    for name, title in run.suite.titles.items():
        one = found[name]
        difference = one.found.difference
        yield {
            "run": run.name,
            "score": title,
            **measured({"baseline": first.estimates[name], "value": run.estimates[name], "difference": difference}),
            "percent": one.found.percent,
            "p": one.found.permutation_p,
            "p_holm": one.p_holm,
            "p_failed_as_wrong": with_failures.get(name),
            "false_discovery": one.false_discovery,
            "p_wilcoxon": one.found.wilcoxon_p,
            "p_equivalence": one.found.equivalence_p,
            "margin": margin_of(run.suite, name, margin),
            "needed": one.found.needed,
            "interval": difference.interval,
        }


def _notes(runs: Sequence[RecordedRun], rows: Sequence[Mapping[str, Any]], margin: float | None) -> list[str]:
    suite = runs[0].suite
    methods = {row["interval"] for row in rows}
    used = [words for how, words in INTERVALS.items() if how in methods]
    margins = {found for name in suite.titles if (found := margin_of(suite, name, margin)) is not None}
    notes = [
        "Differences are paired over the cases that both runs scored; an average is the mean of the columns' mean "
        f"differences. Intervals: {'; '.join([*used, 'none where all differences are equal'])}; each is for its "
        "difference alone, not corrected.",
        "p: paired permutation test of the mean difference. Holm's correction and the false discovery rate (FDR) cover "
        "the columns of all runs together; averages are corrected separately.",
        "needed: cases needed to detect a difference of this size with 80 % power (two-sided test at 5 %).",
        "in %: the difference in percent of the first run's mean over these cases; none where that is 0.",
    ]
    if margins:
        listed = ", ".join(f"{each:g}" for each in sorted(margins))
        notes.append(f"p (TOST): equivalence test, small if the difference lies within ± {listed} (--margin).")
    shared = [{row["score"]: row["difference_n"] for row in rows if row["run"] == run.name} for run in runs[1:]]
    notes += [*unshared_notes(suite, shared), *_failure_notes(rows)]
    return [*notes, *_settings(runs), *unlike(runs), *unscored_notes(runs, suite), *offline_notes(runs)]


def _failure_notes(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Name the differences that are significant, in this direction, only as long as failed cases are left out."""
    lost = [
        f"{row['score']} of {row['run']} ({as_text(p, P_VALUE)})"
        for row in rows
        if (p := row["p_failed_as_wrong"]) is not None and row["p_holm"] is not None and row["p_holm"] < _LEVEL <= p
    ]
    if lost:
        yield (
            "p (Holm) is 0.05 or more if failed cases count as wrong (1 if the difference turns round): "
            f"{', '.join(lost)}."
        )


def _settings(runs: Sequence[RecordedRun]) -> Iterator[str]:
    """Describe how each run's settings differ from the first run's, except the name.

    A model block that only one of them has is not listed: the role that uses the model is.
    """
    first, *others = runs
    for run in others:
        blocks = [each.experiment.identity.get("model", {}) for each in (first, run)]
        unshared = tuple(f"model.{name}." for name in blocks[0].keys() ^ blocks[1].keys())
        sides = [flat(each.experiment.identity) for each in (first, run)]
        names = sorted({name for side in sides for name in side if not name.startswith(unshared)} - {"name"})
        changed_names = [name for name in names if sides[0].get(name) != sides[1].get(name)]
        settings = "; ".join(changed(name, first, run) for name in changed_names)
        yield (
            f"{run.name} differs from {first.name} in {settings}."
            if settings
            else f"{run.name} has the same settings as {first.name}."
        )
