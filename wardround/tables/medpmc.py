"""Med-PMC's tables of doctors (Tables 2 and 3): runs by mode, with the printed rows of that mode below."""

from collections.abc import Sequence
from typing import Any

from scoring.metrics.statistics import Estimate
from wardround.analysis.published import published
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import SPREAD, Column, Table, measured

COLUMNS = {  # as printed
    "Inquiry": ("Inquiry", "Information gathering"),
    "Examination": ("Exam.", "Information gathering"),
    "MMA": ("MMA", "Information gathering"),
    "Avg. (gathering)": ("Avg.", "Information gathering"),
    "Diagnosis": ("Diagn.", "Decision-making"),
    "Treatment": ("Treat.", "Decision-making"),
    "Avg. (decision)": ("Avg.", "Decision-making"),
    "Lens": ("Lens", ""),
    "Turns": ("Turns", ""),
}
MODES = {"direct": "direct prompt", "zero_shot_cot": "zero-shot CoT", "one_shot_cot": "one-shot CoT"}
_NOTES = (
    f"Percent, except Lens (words per turn) and Turns. {SPREAD}.",
    "In brackets: printed values of the paper's doctors on its 30 cases (Tables 2 and 3: RaTEScore, Table 8: ROUGE-1). "
    "Ours: ROUGE-1; for RaTEScore, use `wardround score medpmc RUN --recall ratescore`.",
)


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Table 2 for runs with the standard patient, Table 3 for those with an actor: by mode, a row per run."""
    fitting = [run for run in runs if run.suite.name == "medpmc" and run.scored]
    by_actor: dict[bool, list[RecordedRun]] = {False: [], True: []}
    for run in fitting:
        context = run.experiment.context
        by_actor[context.patient == "medpmc" and context.actor].append(run)
    return [_table(3 if actor else 2, actor, fitting_runs) for actor, fitting_runs in by_actor.items() if fitting_runs]


def _table(number: int, actor: bool, runs: Sequence[RecordedRun]) -> Table:
    rows: list[dict[str, Any]] = []
    printed_rows: list[int] = []
    for mode, title in MODES.items():
        ours = [run for run in runs if run.experiment.context.doctor_mode == mode]
        rows += [_row(title, run.name, "ours", run.estimates) for run in ours]
        for printed in published("medpmc")["beside"] if ours else ():
            if (printed["actor"], printed["mode"]) == (actor, mode):
                for doctor, cells in printed["doctors"].items():
                    printed_rows.append(len(rows))
                    means = {name: Estimate(n=0, mean=value) for name, value in zip(COLUMNS, cells, strict=False)}
                    rows.append(_row(title, f"[{doctor}]", f"Table {printed['table']}, {printed['recall']}", means))
    columns = [
        Column("mode", "Mode", key=True),
        Column("by", "By", key=True),
        Column("doctor", "Doctor", key=True),
        *(Column(name, title, group, mean=True) for name, (title, group) in COLUMNS.items()),
    ]
    name = f"Doctors with {'an actor' if actor else 'the standard patient'} (Med-PMC, Table {number})"
    return Table(f"medpmc-table-{number}", name, columns, rows, _NOTES, beside=printed_rows)


def _row(mode: str, doctor: str, by: str, means: dict[str, Estimate]) -> dict[str, Any]:
    found = measured({name: means.get(name, Estimate(n=0)) for name in COLUMNS})
    return {"mode": mode, "by": by, "doctor": doctor, **found}
