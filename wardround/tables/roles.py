"""What each role used: calls, tokens, cost and time."""

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from llm.trace import Call
from wardround.analysis.summary import uncounted_notes
from wardround.store.recorded_run import RecordedRun
from wardround.store.traces import packed_fault
from wardround.tables.table import Column, Table

_SUMMED = ("input_tokens", "output_tokens", "cost", "attempts", "repaired", "cached")


@dataclass
class RoleTally:
    """The sums over the calls of one role; of each call only its duration is stored, in eight bytes."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    models: set[str] = field(default_factory=set)
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(int))

    def add(self, call: Call) -> None:
        """Add a call; a sum that includes an unknown cost becomes NaN."""
        self.seconds.append(call.seconds)
        self.models.add(call.model)
        for name in _SUMMED:
            value = getattr(call, name)
            self.sums[name] += math.nan if value is None else value
        self.sums["errors"] += call.error is not None
        self.sums["uncounted"] += call.is_uncounted

    @property
    def row(self) -> dict[str, Any]:
        """The role's cells in the table."""
        median, p95 = np.percentile(self.seconds, [50, 95])
        return {
            "model": ", ".join(sorted(self.models)),
            "calls": len(self.seconds),
            "input_tokens": self.sums["input_tokens"],
            "output_tokens": self.sums["output_tokens"],
            "cost": float(self.sums["cost"]),
            "seconds_mean": sum(self.seconds) / len(self.seconds),
            "seconds_p50": float(median),
            "seconds_p95": float(p95),
            **{name: self.sums[name] for name in ("attempts", "repaired", "cached", "errors")},
        }


Tallies = dict[str, RoleTally]


def tally(calls: Iterable[Call], tallies: Tallies) -> None:
    """Add the calls of a case to the sums of their roles."""
    for call in calls:
        tallies.setdefault(call.role, RoleTally()).add(call)


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate what each role used in each run, reading one trace file at a time."""
    tallies_by_run: list[tuple[str, Tallies]] = []
    missing = []
    for run in runs:
        tallies: Tallies = {}
        for file, calls in run.each_trace():
            tally(calls, tallies)
            if fault := packed_fault(file):
                missing.append(f"Calls are missing. {fault}; run `wardround doctor {run.path}` to set it aside.")
        tallies_by_run.append((run.name, tallies))
    table = roles_table(tallies_by_run)
    return [replace(table, notes=[*table.notes, *missing])]


def roles_table(tallied: Sequence[tuple[str, Mapping[str, RoleTally]]]) -> Table:
    """Return the table for tallied runs."""
    rows = [
        {"run": name, "role": role, **one.row} for name, tallies in tallied for role, one in sorted(tallies.items())
    ]
    columns = [
        Column("run", "Run", key=True),
        Column("role", "Role", key=True),
        Column("model", "Model", key=True),
        Column("calls", "Calls"),
        Column("input_tokens", "In", "Tokens"),
        Column("output_tokens", "Out", "Tokens"),
        Column("cost", "Cost ($)", form=".4f"),
        Column("seconds_mean", "Mean", "Seconds", ".3f"),
        Column("seconds_p50", "p50", "Seconds", ".3f"),
        Column("seconds_p95", "p95", "Seconds", ".3f"),
        Column("attempts", "Requests"),
        Column("repaired", "Repaired"),
        Column("cached", "Cached"),
        Column("errors", "Errors"),
    ]
    notes = [
        "Seconds: duration of a call. Cost: - if a price is unknown. Requests: those sent to models, not to rules."
    ]
    notes += uncounted_notes(sum(int(one.sums["uncounted"]) for _, tallies in tallied for one in tallies.values()))
    caption = "Calls, tokens, cost and latency by role."
    return Table("roles", "Roles", columns, rows, notes, caption)
