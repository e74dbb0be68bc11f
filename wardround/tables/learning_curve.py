"""The average score over the course of a run, as its memory grows (MedChain, section 4.2 and B.1)."""

from collections.abc import Sequence

from scoring.case_scores import AVERAGE
from scoring.metrics.samples import over_cases
from wardround.analysis.paired import paired_scores
from wardround.config.selection import select_cases
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_learning_curve
from wardround.tables.table import Column, DoesNotFitError, Table, measured

BLOCKS = 5  # of equal size, in the order of the run


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the mean of each fifth of the cases, and its gain over the first run on the same cases.

    As cases are not equally hard, only the gain shows the effect of growth.

    Raises:
        DoesNotFitError: a run has no average, or fewer cases than blocks.
    """
    averages = {run.name: _averages(run) for run in runs}
    if too_short := next((name for name, found in averages.items() if len(found) < BLOCKS), None):
        raise DoesNotFitError(f"{too_short} has fewer than {BLOCKS} cases with an average (suite medchain)")
    rows = []
    for run in runs:
        ours, first = paired_scores(run.scored, runs[0].scored, run.suite, own_averages=True)[AVERAGE]
        order = list(averages[run.name].items())
        for block in range(BLOCKS):
            start, end = (len(order) * fifth // BLOCKS for fifth in (block, block + 1))
            part = order[start:end]
            gains = [(case_id, ours[case_id][0] - first[case_id][0]) for case_id, _ in part if case_id in first]
            found = {"average": over_cases(part), "gain": over_cases(gains)}
            rows.append({"run": run.name, "block": block + 1, "cases": f"{start + 1}-{end}", **measured(found)})
    columns = [
        Column("run", "Run", key=True),
        Column("block", "Block"),
        Column("cases", "Cases"),
        Column("average", "Average", form=".3f", mean=True),
        Column("gain", f"Above {runs[0].name}", form="+.3f", mean=True),
    ]
    notes = [
        f"Blocks: fifths of the cases, in the order of the run. Gain: over {runs[0].name}, on the same cases and "
        "columns."
    ]
    caption = "Average score over the course of a run, and its gain over the first run on the same cases."
    pictures = {"learning_curve": draw_learning_curve}
    return [Table("learning_curve", "Learning curve", columns, rows, notes, caption, pictures=pictures)]


def _averages(run: RecordedRun) -> dict[str, float]:
    """Return the average of each case over its epochs, in the order of the run."""
    found, _ = paired_scores(run.scored, run.scored, run.suite, own_averages=True).get(AVERAGE, ({}, {}))
    ids = [case.id for case in select_cases(run.experiment.data)]
    return {case_id: found[case_id][0] for case_id in ids if case_id in found}
