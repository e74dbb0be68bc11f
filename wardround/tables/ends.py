"""How cases, stages, dialogues and discussions ended, and after how many rounds."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nodes.workflow.stages import STAGES
from scoring.metrics.samples import over_cases
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result
from wardround.tables.table import Column, Table, key_columns, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the ends of each part of the workflow, their shares and the mean number of rounds."""
    rows = [{"run": run.name, **row} for run in runs for row in _rows(run.results)]
    columns = [
        *key_columns("run", "part"),
        Column("end", "Ended", key=True),
        Column("cases", "Cases"),
        Column("share", "Share", form=".3f", mean=True),
        Column("rounds", "Rounds", mean=True),
    ]
    notes = ["Rounds: decisions of a stage, turns of a dialogue, revisions of a discussion."]
    if any(name.startswith("examination:") for run in runs for result in run.results for name in result.stages):
        notes.append("Examination: a case counts once for each kind of picture that was reported on.")
    caption = "How cases and their parts ended, and after how many rounds."
    return [Table("ends", "Endings and rounds", columns, rows, notes, caption)]


def _rows(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run: its cases, then each part of them; the most frequent end first."""
    ended: dict[str, list[tuple[str, int | None, str]]] = {}  # end, rounds and case, by part
    for result in results:
        ended.setdefault("case", []).append((result.termination, None, result.case_id))
        for name, end in result.stages.items():
            ends = ended.setdefault(title_of(name.split(":")[0]), [])
            ends.append((end.replace("_", " "), result.rounds.get(name), result.case_id))
    course = [title_of(name) for name in STAGES]  # the first case may have gone through only some of them
    for part in sorted(ended, key=lambda part: course.index(part) if part in course else -1):
        counts = Counter(end for end, *_ in ended[part])
        for end in sorted(counts, key=lambda end: (-counts[end], end)):
            shares = [(case, float(other == end)) for other, _, case in ended[part]]
            rounds = [(case, count) for other, count, case in ended[part] if other == end]
            found = {"share": over_cases(shares, (0.0, 1.0)), "rounds": over_cases(rounds)}
            yield {"part": part, "end": end, "cases": counts[end], **measured(found)}


def title_of(part: str) -> str:
    """Return the name of a part of the workflow for readers, such as "history taking physical"."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", re.sub(r"[._]", " ", part))
