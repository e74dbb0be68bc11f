"""What one setting changes: pairs of runs that differ only in it (Med-PMC, Table 3 and Figure 5)."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from scoring.metrics.samples import over_cases
from wardround.analysis.paired import differences, paired_scores, unlike
from wardround.config.experiment import flat
from wardround.store.recorded_run import RecordedRun
from wardround.tables.scores import offline_notes, score_form, unscored_notes
from wardround.tables.table import Column, Table, measured

# Where scores should move without one of the three characteristics: the arrows of MedChain's Table 4.
EXPECTED = {"workflow.personalized": "down", "workflow.sequential": "up", "workflow.interactive": "up"}


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate every score of each such pair over the cases that both scored, with the paired difference.

    The baseline is the first run with the same other settings: in a grid of modes and actor, each mode with the actor
    is compared with the same mode without.
    """
    rows: list[dict[str, Any]] = []
    notes = [
        "Means and differences are over the cases that both runs scored; an average is the mean of the columns' means, "
        "and a paper's average has no value if the runs share no case of one of its columns. p: paired "
        "permutation test, Holm-corrected over the columns of the pair; averages are corrected separately."
    ]
    form = ".2f"
    for setting, first, run in pairs(runs):
        form = score_form(run.suite)
        tested = differences([first, run])[0]
        scores = paired_scores(run.scored, first.scored, run.suite)
        for name, title in run.suite.titles.items():
            ours, theirs = scores[name]
            common, ends = sorted(ours.keys() & theirs.keys()), run.suite.ends_of(name)
            sides = {
                side: over_cases([(case, fmean(values[case])) for case in common], ends)
                for side, values in (("baseline", theirs), ("value", ours))
            }
            found = {**sides, "difference": tested[name].found.difference}
            labels = {"setting": changed(setting, first, run), "baseline": first.name, "run": run.name, "score": title}
            rows.append({**labels, **measured(found), "p": tested[name].p_holm, "cases": len(common)})
            if setting in EXPECTED:
                rows[-1]["expected"] = _as_expected(EXPECTED[setting], found["difference"].mean)
        notes += [each for each in unlike([first, run]) if each not in notes]
    for suite in {run.suite.name: run.suite for run in runs}.values():
        notes += unscored_notes([run for run in runs if run.suite.name == suite.name], suite)
    notes += offline_notes(runs)
    columns = [
        Column("setting", "Setting", key=True),
        Column("run", "Run", key=True),
        Column("score", "Score", key=True),
        Column("baseline", "Before", form=form, mean=True),
        Column("value", "After", form=form, mean=True),
        Column("difference", "Difference", form=f"+{form}", mean=True),
        Column("p", "p", form=".3f"),
        Column("cases", "Cases"),
    ]
    if any("expected" in row for row in rows):
        columns.append(Column("expected", "As expected"))
        notes.append(
            "As expected: whether the mean changed in the direction that the paper expects without that "
            "characteristic (Table 4)."
        )
    return [Table("contrasts", "Effect of single settings", columns, rows, notes, "Paired differences by setting.")]


def pairs(runs: Sequence[RecordedRun]) -> Iterator[tuple[str, RecordedRun, RecordedRun]]:
    """Yield each setting with two runs that differ only in it, the earlier run as the baseline."""
    settings = [flat(run.experiment.identity) for run in runs]
    names = dict.fromkeys(name for each in settings for name in each if name != "name")
    varying = [name for name in names if len({json.dumps(each.get(name)) for each in settings}) > 1]
    for setting in varying:
        if setting == "suite":  # its columns are other ones
            continue
        others = [name for name in varying if name != setting]
        keys = [json.dumps([each.get(name) for name in others]) for each in settings]
        order = sorted(range(len(runs)), key=lambda index: (keys.index(keys[index]), index))
        for _, group in groupby(order, key=lambda index: keys[index]):
            first, *rest = list(group)
            yield from ((setting, runs[first], runs[index]) for index in rest)


def _as_expected(direction: str, difference: float | None) -> str | None:
    if difference is None:
        return None
    return f"{direction}: {'yes' if (difference > 0) == (direction == 'up') and difference else 'no'}"


def changed(setting: str, first: RecordedRun, run: RecordedRun) -> str:
    """Describe a setting (by its full name) in both runs."""
    return f"{setting}: {_value(first, setting)} to {_value(run, setting)}"


def _value(run: RecordedRun, setting: str) -> str:
    """Describe the value of a setting; the graph's default if the file does not set it."""
    found = flat(run.experiment.identity).get(setting)
    section, _, name = setting.partition(".")
    if found is None and section == "workflow":
        found = getattr(run.experiment.context, name, None)
    if found is None:
        return "not set"
    return str(found).lower() if isinstance(found, bool) else str(found) or "(empty)"
