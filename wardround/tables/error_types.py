"""What led to wrong diagnoses (AI Hospital, section 6.4 and Table 5)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from scoring.metrics.samples import over_cases
from scoring.mvme.grades import LOWEST, SCORES
from scoring.mvme.judges import ERROR_TYPES, misdiagnosis_judge
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.table import Column, Table, measured

TITLES: Mapping[str, str] = {
    "omitted_examination": "Omitted examination",
    "complication_only": "Complication only",
    "wrong_judgement": "Wrong judgement",
}
assert tuple(TITLES) == ERROR_TYPES


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the reports with the lowest diagnosis grade by type of error."""
    rows = []
    for run in runs:
        if run.suite.name != "mvme":
            continue
        lowest = [result for result in run.results if result.scores.get("diagnosis") == SCORES[LOWEST]]
        types = [(result.case_id, error_type(run, result)) for result in lowest]
        classified = [(case, found) for case, found in types if found]
        counts = Counter(found for _, found in classified)
        shares = {
            f"{name}_share": over_cases([(case, float(found == name)) for case, found in classified]) for name in TITLES
        }
        numbers = {**{name: counts[name] for name in TITLES}, "not_sorted": len(lowest) - len(classified)}
        rows.append({"run": run.name, "lowest": len(lowest), **numbers, **measured(shares)})
    columns = [
        Column("run", "Run", key=True),
        Column("lowest", "Graded D"),
        *(Column(name, title, "Number") for name, title in TITLES.items()),
        Column("not_sorted", "Not sorted", "Number"),
        *(Column(f"{name}_share", title, "Share", ".3f", mean=True) for name, title in TITLES.items()),
    ]
    notes = [
        "Graded D: diagnoses that contain hardly anything of the reference.",
        "Not sorted: no report was written, or the judge gave no answer; the shares are of the sorted diagnoses.",
    ]
    return [Table("error_types", "Wrong diagnoses by type of error", columns, rows, notes, "Types of misdiagnosis.")]


def error_type(run: RecordedRun, result: Result) -> str | None:
    """Return the error type that the judge gave when the case was scored; None if not asked, or without an answer."""
    for call in reversed(run.trace(result).calls):
        if call.role == misdiagnosis_judge.name and call.error is None and isinstance(call.answer, dict):
            return str(call.answer["type"])
    return None
