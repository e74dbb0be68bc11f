"""Types of misdiagnosis by people, compared with the judge's (AI Hospital, section 6.4 and Table 5)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.metrics.samples import mean
from scoring.mvme.judges import ERROR_TYPES
from scoring.panel import cohen_kappa
from wardround.rating.items import Key
from wardround.store.recorded_run import RecordedRun
from wardround.tables.ai_hospital import ERROR_TITLES, error_type
from wardround.tables.table import Column, Table

QUESTION = "type"  # the scale's only question; its values number the types from 1


def names_of_types(votes: Mapping[str, Mapping[Key, Mapping[str, int]]]) -> dict[str, dict[Key, dict[str, str]]]:
    """Return the votes with the names of the types for their numbers, which have no order."""
    return {
        question: {
            item: {rater: ERROR_TYPES[value - 1] for rater, value in values.items()} for item, values in by_item.items()
        }
        for question, by_item in votes.items()
    }


def sorted_by_people(runs: Sequence[RecordedRun], votes: Mapping[str, Mapping[Key, Mapping[str, int]]]) -> Table:
    """Tabulate each person's counts by type, and the judge's of the same reports; kappa is between person and judge.

    Reports that a person has classified and the judge has not count for the person only.
    """
    by_item = votes.get(QUESTION, {})
    judged = {
        (run.name, "", *result.key): error_type(run, result) for run in runs for result in run.scored
        if (run.name, "", *result.key) in by_item
    }  # fmt: skip
    raters = sorted({rater for values in by_item.values() for rater in values})
    rows: list[dict[str, Any]] = []
    for run in runs:
        rated = {item: values for item, values in by_item.items() if item[0] == run.name}
        for rater in raters:
            types: dict[Key, str] = {
                item: ERROR_TYPES[values[rater] - 1] for item, values in rated.items() if rater in values
            }
            pairs = [(one, other) for item, one in types.items() if (other := judged.get(item))]
            counts, agreed = Counter(types.values()), mean([float(one == other) for one, other in pairs])
            row: dict[str, Any] = {"run": run.name, "who": rater, **{name: counts[name] for name in ERROR_TYPES}}
            rows += [{**row, "alike": agreed, "kappa": cohen_kappa(pairs), "both": len(pairs)}] if types else []
        if rated:
            counts = Counter(found for item in rated if (found := judged.get(item)))
            rows.append({"run": run.name, "who": "(the judge)", **{name: counts[name] for name in ERROR_TYPES}})
    columns = [
        Column("run", "Run", key=True),
        Column("who", "Who", key=True),
        *(Column(name, title, "Number") for name, title in ERROR_TITLES.items()),
        Column("alike", "Same", "With the judge", ".3f"),
        Column("kappa", "Cohen's kappa", "With the judge", ".3f"),
        Column("both", "Sorted by both", "With the judge"),
    ]
    note = "Reports whose diagnosis is graded D and that people have rated."
    return Table("misdiagnoses", "Types of wrong diagnoses according to people", columns, rows, [note])
