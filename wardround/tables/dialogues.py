"""How long dialogues were, and how often examinations were asked for (AI Hospital, #QA and #Test of Table 4)."""

from collections.abc import Sequence
from typing import Any

from scoring.consultation import ConsultationAnswers
from scoring.metrics.statistics import estimate
from scoring.mvme.replies import exchanges
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, DoesNotFitError, Table, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """The answered turns of the doctors and the requests at the examiner's desk, in all and in a dialogue.

    Raises:
        DoesNotFitError: no run kept a dialogue.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        found = [
            (result.case_id, exchanges(result.answers.dialogue))
            for result in run.each_answered()
            if isinstance(result.answers, ConsultationAnswers) and result.answers.dialogue
        ]
        if not found:
            continue
        names = [name for name, _ in found]
        pairs = [len(each) for _, each in found]
        tests = [sum(one.examined for one in each) for _, each in found]
        means = {"pairs_each": estimate(map(float, pairs), names), "tests_each": estimate(map(float, tests), names)}
        rows.append(
            {"run": run.name, "dialogues": len(found), "pairs": sum(pairs), "tests": sum(tests), **measured(means)}
        )
    if not rows:
        raise DoesNotFitError("no run kept a dialogue (graphs consultation and dispute_resolution)")
    columns = [
        Column("run", "Run", key=True),
        Column("dialogues", "Dialogues"),
        Column("pairs", "#QA", "In all"),
        Column("tests", "#Test", "In all"),
        Column("pairs_each", "#QA", "In a dialogue", mean=True),
        Column("tests_each", "#Test", "In a dialogue", mean=True),
    ]
    notes = [
        "#QA: turns of the doctor with a reply. #Test: of these, those in which examinations were asked for.",
        "Of several doctors the dialogue of the first; relevance, consistency and accuracy of the replies: "
        "`wardround score replies RUN`.",
    ]
    return [Table("dialogues", "Dialogues", columns, rows, notes, "Questions answered and examinations asked for.")]
