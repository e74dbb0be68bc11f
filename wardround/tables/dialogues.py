"""The length of dialogues, their examinations (AI Hospital, Table 4), and when a diagnosis came (CliniChat, 4.3)."""

from collections.abc import Sequence
from typing import Any, get_args

from nodes.patients.clinichat import DIAGNOSING, Occasion
from scoring.metrics.samples import over_cases
from scoring.mvme.replies import exchanges
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, Table, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the doctors' answered turns and their examination requests, in total and per dialogue.

    With CliniChat's patient, who labels each turn of the doctor, count also the turns before and after the diagnosis.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        found = [(result.case_id, exchanges(answers.dialogue)) for result, answers in run.each_dialogue()]
        pairs = [(case, len(each)) for case, each in found]
        tests = [(case, sum(one.examined for one in each)) for case, each in found]
        sums = {"pairs": sum(count for _, count in pairs), "tests": sum(count for _, count in tests)}
        means = {"pairs_each": over_cases(pairs), "tests_each": over_cases(tests)}
        rows += [{"run": run.name, "dialogues": len(found), **sums, **measured(means)}] if found else []
    columns = [
        Column("run", "Run", key=True),
        Column("dialogues", "Dialogues"),
        Column("pairs", "#QA", "In total"),
        Column("tests", "#Test", "In total"),
        Column("pairs_each", "#QA", "Per dialogue", mean=True),
        Column("tests_each", "#Test", "Per dialogue", mean=True),
    ]
    notes = [
        "#QA: turns of the doctor that got a reply. #Test: those of them in which examinations were asked for.",
        "With several doctors, the dialogue of the first one is counted. For the relevance, consistency and accuracy "
        "of the replies, use `wardround score replies RUN`.",
    ]
    table = Table("dialogues", "Dialogues", columns, rows, notes, "Questions answered and examinations asked for.")
    return [table, *_phases(runs)]


def _phases(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the doctor's turns before a disease is first named, and from then on."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        found = [
            (result.case_id, [turn.action for turn in answers.dialogue if turn.speaker == "doctor"])
            for result, answers in run.each_dialogue()
        ]
        if not any(action in get_args(Occasion) for _, turns in found for action in turns):
            continue
        parts = [(case, *_turns_before_and_after(turns)) for case, turns in found]
        means = {
            "before": over_cases([(case, before) for case, before, _ in parts]),
            "after": over_cases([(case, after) for case, _, after in parts]),
            "first": over_cases([(case, before + 1) for case, before, after in parts if after]),
            "named": over_cases([(case, float(after > 0)) for case, _, after in parts], (0.0, 1.0)),
        }
        rows.append({"run": run.name, "dialogues": len(found), **measured(means)})
    columns = [
        Column("run", "Run", key=True),
        Column("dialogues", "Dialogues"),
        Column("before", "Before", "Turns", mean=True),
        Column("after", "From then on", "Turns", mean=True),
        Column("first", "Turn", "Disease first named", mean=True),
        Column("named", "Dialogues", "Disease first named", form=".3f", mean=True),
    ]
    notes = [
        "Before: turns of the doctor before the first that names a suspected disease (all turns if none does). From "
        "then on: that turn and those after it."
    ]
    caption = "Turns of the doctor before and after a disease was first named."
    return [Table("phases", "Before and after the diagnosis", columns, rows, notes, caption)] if rows else []


def _turns_before_and_after(actions: Sequence[str | None]) -> tuple[int, int]:
    """Return the number of turns before the first that names or explains a disease, and from it on."""
    first = next((place for place, action in enumerate(actions) if action in DIAGNOSING), len(actions))
    return first, len(actions) - first
