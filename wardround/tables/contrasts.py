"""What a single setting changes: paired differences of runs that differ in it alone (MedChain, Table 4)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from scoring.case_scores import Suite
from scoring.metrics.statistics import Estimate, estimate_columns
from wardround.analysis.notes import FAILED_AS_WRONG
from wardround.analysis.paired import Scores, differences, paired_scores, scored_or_wrong, spare_columns, unlike
from wardround.config.experiment import flat
from wardround.store.recorded_run import RecordedRun
from wardround.tables.scores import AS_WRONG, score_form, unscored_notes
from wardround.tables.table import P_VALUE, Column, Table, alike, key_columns, measured

# Where scores should move without one of the three characteristics: the arrows of MedChain's Table 4, which has two
# columns. (Others cannot move so: nothing comes before the first department.)
EXPECTED = {"workflow.personalized": "down", "workflow.sequential": "up", "workflow.interactive": "up"}
EXPECTED_OF = {"medchain": ("diagnosis", "treatment")}
# Settings that cannot keep their value when another changes: without a patient to ask, no dialogue has orders.
GO_WITH = {"workflow.interactive": ("workflow.orders",)}


def build_contrasts(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate every score of each such pair over the cases that both scored, with the paired difference.

    The baseline is the first run with the same other settings: in a grid of modes and actor, each mode with the actor
    is compared with the same mode without.
    """
    rows: list[dict[str, Any]] = []
    notes = [
        "Means and differences are over the cases that both runs scored; an average is the mean of the columns' means, "
        "and Med-PMC's have no value if the runs share no case of one of their columns. p: paired "
        "permutation test, Holm-corrected over the columns of the pair; averages are corrected separately. Intervals "
        "are not corrected."
    ]
    form = ".2f"
    for setting, first, run in pairs(runs):
        form = max(form, score_form(run.suite))  # ".3f" if a suite has it
        effects = [*_effects(setting, first, run)]
        rows += effects
        shared = {row["score"]: row["cases"] for row in effects}
        notes += [each for each in (*unlike([first, run]), *unshared_notes(run.suite, [shared])) if each not in notes]
    for suite in {run.suite.name: run.suite for run in runs}.values():
        notes += unscored_notes([run for run in runs if run.suite.name == suite.name], suite)
    if any(str(row["score"]).endswith(AS_WRONG) for row in rows):
        notes.append(FAILED_AS_WRONG)
    columns = [
        *key_columns("setting", "run", "score"),
        *alike({"baseline": "Before", "value": "After"}, form=form, mean=True),
        Column("difference", "Difference", form=f"+{form}", mean=True),
        Column("p", "p", form=P_VALUE),
        Column("cases", "Cases"),
    ]
    if any("expected" in row for row in rows):
        columns.append(Column("expected", "As expected"))
        notes.append(
            "As expected: whether the mean of a column of Table 4 changed in the direction that the paper expects "
            "without that characteristic."
        )
    return [Table("contrasts", "Effect of single settings", columns, rows, notes, "Paired differences by setting.")]


def unshared_notes(suite: Suite, shared: Sequence[Mapping[str, int]]) -> list[str]:
    """Name the averages without some of their columns, given the common cases of each title in each pair of runs."""
    partial = [
        title
        for name, (title, columns) in suite.averages.items()
        if name not in suite.means
        and any(cases[title] and not all(cases.get(suite.titles[each], 1) for each in columns) for cases in shared)
    ]
    return [f"{', '.join(partial)}: without the columns of which two runs share no case."] if partial else []


def _effects(setting: str, first: RecordedRun, run: RecordedRun) -> Iterator[dict[str, Any]]:
    """Yield a row for each score of a pair; below it, if cases failed, a row with failed cases counted as wrong."""
    suite = run.suite
    changing = [setting, *(each for each in GO_WITH.get(setting, ()) if _value(first, each) != _value(run, each))]
    bounded = first.failed_as_wrong.keys() | run.failed_as_wrong.keys()
    kinds = [("", {*suite.titles}, run.scored, first.scored)]
    if bounded:
        kinds.append((AS_WRONG, bounded, scored_or_wrong(run), scored_or_wrong(first)))
    compared = [
        (kind, names, paired_scores(ours, theirs, suite), differences([first, run], with_failures=bool(kind))[0])
        for kind, names, ours, theirs in kinds
    ]
    left_out = spare_columns([first, run])
    for name, title in suite.titles.items():
        for kind, names, scores, tested in compared:
            if name in names and name not in left_out:
                found = {**_sides(name, scores, suite), "difference": tested[name].found.difference}
                row: dict[str, Any] = {
                    "setting": "; ".join(changed(each, first, run) for each in changing),
                    "baseline": first.name,
                    "run": run.name,
                    "score": f"{title}{kind}",
                    **measured(found),
                    "p": tested[name].p_holm,
                    "cases": len(scores[name][0].keys() & scores[name][1].keys()),
                }
                if setting in EXPECTED and name in EXPECTED_OF.get(suite.name, ()):
                    row["expected"] = _as_expected(EXPECTED[setting], found["difference"].mean)
                yield row


def _sides(name: str, scores: Mapping[str, tuple[Scores, Scores]], suite: Suite) -> dict[str, Estimate]:
    """Estimate a score of both runs over the cases that both scored, as in the table of scores.

    Where a case has fewer epochs than another, its mean stands for it, so that the means differ by the difference.
    """
    columns = suite.averages[name][1] if name in suite.averages else [name]
    common = {
        column: scores[column][0].keys() & scores[column][1].keys() if scores[name][0] else set() for column in columns
    }
    cases = sorted(set().union(*common.values()))
    counts = {len(values[case]) for column, shared in common.items() for values in scores[column] for case in shared}
    epochs = max(counts) if len(counts) == 1 else 1
    clusters = [case for case in cases for _ in range(epochs)]

    def side(place: int) -> Estimate:
        known: dict[str, list[float | None]] = {column: [] for column in common}
        for column, shared in common.items():
            for case in cases:
                if case not in shared:
                    known[column] += [None] * epochs
                else:
                    values = scores[column][place][case]
                    known[column] += values if len(values) == epochs else [fmean(values)]
        return estimate_columns(known, clusters, {column: suite.ends_of(column) for column in columns}).average

    return {"baseline": side(1), "value": side(0)}


def pairs(runs: Sequence[RecordedRun]) -> Iterator[tuple[str, RecordedRun, RecordedRun]]:
    """Yield each setting with two runs that differ only in it and what goes with it, the earlier as the baseline."""
    settings = [flat(run.experiment.identity) for run in runs]
    names = dict.fromkeys(name for each in settings for name in each if name != "name")
    varying = [
        name for name in names if len({json.dumps(each.get(name)) for each in settings if _asks(each, name)}) > 1
    ]
    for setting in varying:
        if setting == "suite":  # its columns are other ones
            continue
        others = [name for name in varying if name != setting and name not in GO_WITH.get(setting, ())]
        keys = [json.dumps([each.get(name) for name in others]) for each in settings]
        order = sorted(range(len(runs)), key=lambda index: (keys.index(keys[index]), index))
        for _, group in groupby(order, key=lambda index: keys[index]):
            first, *rest = list(group)
            changed_ones = (index for index in rest if settings[index].get(setting) != settings[first].get(setting))
            yield from ((setting, runs[first], runs[index]) for index in changed_ones)


def _asks(settings: Mapping[str, Any], name: str) -> bool:
    """Whether a setting may make the run another one: a model's parameters do not in a run without that model."""
    section, _, rest = name.partition(".")
    return section != "model" or f"model.{rest.partition('.')[0]}.spec" in settings


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
        return "(not set)"
    return str(found).lower() if isinstance(found, bool) else str(found) or "(empty)"
