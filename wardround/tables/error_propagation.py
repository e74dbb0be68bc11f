"""How errors of early stages carry over to later ones (MedChain, Figure 1)."""

from collections.abc import Sequence

from scoring.medchain.error_propagation import error_propagation
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_error_propagation
from wardround.tables.scores import epoch_notes
from wardround.tables.table import Column, Table, measured

THRESHOLD = 0.5


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the cases still right after each stage, and each stage's accuracy if all earlier ones were right."""
    rows = []
    for run in (one for one in runs if one.scored):
        titles = run.suite.titles
        scores, cases = [one.scores for one in run.scored], [one.case_id for one in run.scored]
        propagation = error_propagation(scores, run.suite.stages, THRESHOLD, cases=cases)
        rows += [
            {
                "run": run.name,
                "stage": titles[passage.stage],
                **passage.model_dump(include={"entered", "unscored", "still_right"}),
                **measured({"accuracy": passage.accuracy}),
            }
            for passage in propagation
        ]
    columns = [
        Column("run", "Run", key=True),
        Column("stage", "Stage", key=True),
        Column("entered", "Right before"),
        Column("unscored", "Of these, unscored"),
        Column("still_right", "Still right"),
        Column("accuracy", "Accuracy if right before", form=".3f", mean=True),
    ]
    notes = [
        f"A stage is right if its department is right or its score is at least {THRESHOLD}. "
        "A case without a score at a stage continues, but is not counted as still right there.",
        *epoch_notes(runs),
    ]
    caption = "Cases still right after each stage, and the accuracy of each stage where all earlier ones were right."
    name, pictures = "error_propagation", {"error_propagation": draw_error_propagation}
    return [Table(name, "Error propagation", columns, rows, notes, caption, pictures=pictures)]
