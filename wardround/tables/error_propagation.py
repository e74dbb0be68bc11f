"""How errors of early stages carry over to later ones (MedChain, Figure 1)."""

from collections.abc import Sequence

from scoring.medchain.error_propagation import error_propagation
from wardround.analysis.summary import columns_of
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Cell, Column, DoesNotFitError, Measured, Table

THRESHOLD = 0.5


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Cases still right after each stage, and each stage's accuracy given that every earlier one was right.

    Raises:
        DoesNotFitError: no run is scored stage by stage.
    """
    staged = [run for run in runs if run.suite.stages and run.scored]
    if not staged:
        raise DoesNotFitError("no run is scored stage by stage (suite medchain)")
    rows: list[list[Cell]] = []
    for run in staged:
        titles = columns_of(run.suite)
        scores, cases = [one.scores for one in run.scored], [one.case_id for one in run.scored]
        passages = error_propagation(scores, run.suite.stages, THRESHOLD, cases=cases)
        for passage in passages:
            accuracy = Measured(passage.accuracy)
            rows.append(
                [run.name, titles[passage.stage], passage.entered, passage.unscored, passage.still_right, accuracy]
            )
    columns = [
        Column("run", "Run", key=True),
        Column("stage", "Stage", key=True),
        Column("entered", "Right before"),
        Column("unscored", "Of these unscored"),
        Column("still_right", "Still right"),
        Column("accuracy", "Accuracy given that", digits=3, measured=True),
    ]
    notes = [
        f"A stage is right if the department is, or if its score is {THRESHOLD} or more; "
        "one without a score lets the case pass."
    ]
    caption = "Cases still right after each stage, and the accuracy of each stage where all earlier ones were right."
    return [Table("error_propagation", "Error propagation", columns, rows, notes, caption)]
