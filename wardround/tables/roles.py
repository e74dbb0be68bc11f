"""What each role took: calls, tokens, cost and time."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from llm.trace import Call
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Cell, Column, DoesNotFitError, Table


@dataclass
class RoleTally:
    """The sums over the calls of one role; of a call nothing stays but the time it took, in eight bytes."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    models: set[str] = field(default_factory=set)
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    attempts: int = 0
    repaired: int = 0
    cached: int = 0
    errors: int = 0

    def add(self, call: Call) -> None:
        """Count one more call."""
        self.seconds.append(call.seconds)
        self.models.add(call.model)
        self.input_tokens += call.input_tokens
        self.output_tokens += call.output_tokens
        self.cost = None if self.cost is None or call.cost is None else self.cost + call.cost
        self.attempts += call.attempts
        self.repaired += call.repaired
        self.cached += call.cached
        self.errors += call.error is not None

    def row(self) -> list[Cell]:
        """The cells after the role's name."""
        import numpy as np

        median, late = np.percentile(self.seconds, [50, 95])
        return [
            ", ".join(sorted(self.models)),
            len(self.seconds),
            self.input_tokens,
            self.output_tokens,
            self.cost,
            sum(self.seconds) / len(self.seconds),
            float(median),
            float(late),
            self.attempts,
            self.repaired,
            self.cached,
            self.errors,
        ]


Tallies = dict[str, RoleTally]


def tally(calls: Iterable[Call], tallies: Tallies) -> None:
    """Add the calls of a case to the sums of their roles."""
    for call in calls:
        tallies.setdefault(call.role, RoleTally()).add(call)


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """What each role took in each run, from the traces, one file after the other.

    Raises:
        DoesNotFitError: no call is on record.
    """
    tallied: list[tuple[str, Tallies]] = []
    for run in runs:
        tallies: Tallies = {}
        for _, calls in run.each_trace():
            tally(calls, tallies)
        tallied.append((run.name, tallies))
    return [roles_table(tallied)]


def roles_table(tallied: Sequence[tuple[str, Tallies]]) -> Table:
    """The table of runs that have been gone through.

    Raises:
        DoesNotFitError: no call is on record.
    """
    rows: list[list[Cell]] = [
        [name, role, *one.row()] for name, tallies in tallied for role, one in sorted(tallies.items())
    ]
    if not rows:
        raise DoesNotFitError("no call is on record")
    columns = [
        Column("run", "Run", key=True),
        Column("role", "Role", key=True),
        Column("model", "Model", key=True),
        Column("calls", "Calls"),
        Column("input_tokens", "In", "Tokens"),
        Column("output_tokens", "Out", "Tokens"),
        Column("cost", "Cost ($)", digits=4),
        Column("seconds_mean", "Mean", "Seconds", digits=3),
        Column("seconds_p50", "p50", "Seconds", digits=3),
        Column("seconds_p95", "p95", "Seconds", digits=3),
        Column("attempts", "Requests"),
        Column("repaired", "Repaired"),
        Column("cached", "Cached"),
        Column("errors", "Errors"),
    ]
    notes = [
        "Seconds: of a call. Cost: - where a model has no known price. Requests: what was sent to models, not to rules."
    ]
    caption = "Calls, tokens, cost and latency by role."
    return Table("roles", "Roles", columns, rows, notes, caption)
