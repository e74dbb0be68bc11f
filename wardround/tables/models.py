"""What the models and roles of each run used, and the models' cards."""

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cases.grouping import grouped
from llm.blocks import block_of
from llm.trace import Call
from wardround.analysis.notes import is_usage_known, uncounted_notes
from wardround.store.recorded_run import RecordedRun
from wardround.store.traces import packed_fault
from wardround.tables.table import Column, Table, alike, key_columns

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
            **{name: self._reported(name) for name in ("input_tokens", "output_tokens", "cost")},
            "seconds_mean": sum(self.seconds) / len(self.seconds),
            "seconds_p50": float(median),
            "seconds_p95": float(p95),
            **{name: self.sums[name] for name in ("attempts", "repaired", "cached", "errors")},
        }

    def _reported(self, name: str) -> float | None:
        """Return a sum of tokens or cost; None if no server reported any tokens."""
        tokens, uncounted = self.sums["input_tokens"] + self.sums["output_tokens"], self.sums["uncounted"]
        return self.sums[name] if is_usage_known(tokens, uncounted) else None


Tallies = dict[str, RoleTally]


def tally(calls: Iterable[Call], tallies: Tallies) -> None:
    """Add the calls of a case to the sums of their roles."""
    for call in calls:
        tallies.setdefault(call.role, RoleTally()).add(call)


def build_roles(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate what each role used in each run, reading one trace file at a time."""
    tallies_by_run: list[tuple[str, Tallies]] = []
    missing = []
    for run in runs:
        tallies: Tallies = {}
        results = {run.trace_file(*result.key): result for result in run.results if result.scored}
        lost = {*results}
        for file, calls in run.each_trace():
            tally(calls, tallies)
            if file in results and not results[file].misses_of(calls):
                lost.discard(file)
            if fault := packed_fault(file):
                missing.append(f"Calls are missing. {fault}; run `wardround doctor {run.path}` to set it aside.")
                lost.discard(file)
        if lost:
            missing.append(
                f"Calls are missing. {run.name}: the traces of {len(lost)} of {len(results)} cases are gone or "
                f"incomplete; `wardround doctor --check {run.path}` names them."
            )
        tallies_by_run.append((run.name, tallies))
    table = roles_table(tallies_by_run)
    return [replace(table, notes=[*table.notes, *missing])]


def roles_table(tallied: Sequence[tuple[str, Mapping[str, RoleTally]]]) -> Table:
    """Return the table for tallied runs."""
    tallies = [(name, role, one) for name, by_role in tallied for role, one in sorted(by_role.items())]
    rows = [{"run": name, "role": role, **one.row} for name, role, one in tallies]
    columns = [
        *key_columns("run", "role", "model"),
        Column("calls", "Calls"),
        *alike({"input_tokens": "In", "output_tokens": "Out"}, "Tokens"),
        Column("cost", "Cost ($)", form=".4f"),
        *alike({"seconds_mean": "Mean", "seconds_p50": "p50", "seconds_p95": "p95"}, "Seconds", form=".3f"),
        *alike({"attempts": "Requests", "repaired": "Repaired", "cached": "Cached", "errors": "Errors"}),
    ]
    notes = [
        "Seconds: duration of a call. Cost: - if a price is unknown. Calls: rules' and people's too. "
        "Requests: those sent to models, not to rules."
    ]
    notes += uncounted_notes(sum(int(one.sums["uncounted"]) for *_, one in tallies))
    caption = "Calls, tokens, cost and latency by role."
    return Table("roles", "Roles", columns, rows, notes, caption)


_CARD = "card_"


def build_models(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate each model of each run with its card (Med-PMC, Table 6), with a column for each entry of any card."""
    rows = [{"run": run.name, **row} for run in runs for row in _model_rows(run)]
    card_columns = dict.fromkeys(name for row in rows for name in row if name.startswith(_CARD))
    columns = [
        *key_columns("run", "model"),
        Column("spec", "Spec"),
        *(Column(name, name.removeprefix(_CARD).capitalize()) for name in card_columns),
        Column("roles", "Roles"),
    ]
    advice = "To add the maker, size, precision and so on, set a card in the model's block, `[model.NAME]`."
    notes = [] if card_columns else [advice]
    return [Table("models", "Models", columns, rows, notes, "The models, and the roles that each model answered.")]


def _model_rows(run: RecordedRun) -> Iterator[dict[str, Any]]:
    roles_of = grouped((model, role) for role, models in run.models.items() for model in models)
    for model, roles in sorted(roles_of.items()):
        block = block_of(model, run.experiment.model)
        card = {f"{_CARD}{name}": text for name, text in block.card.items()}
        yield {"model": model, "spec": block.text, **card, "roles": ", ".join(sorted(roles))}
