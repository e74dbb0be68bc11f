"""Project what a run will take (calls, tokens, cost, time) from a rehearsal of some cases or from a recorded run."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from llm.rehearsal import rehearsing
from scoring.metrics.samples import mean
from wardround.config.experiment import AllLimits, ConfigurationError, Experiment, Run
from wardround.config.selection import select
from wardround.printing import counted
from wardround.run.runner import run_experiment
from wardround.store.manifest import is_run
from wardround.store.recorded_run import RecordedRun, find_run, find_runs
from wardround.tables.models import RoleTally
from wardround.tables.table import Column, Table

SAMPLE = 20  # cases rehearsed
_TOTAL = ("all", "")
_REHEARSED = (
    "Estimated from an offline rehearsal of {}, at four bytes per token. The output tokens are a lower bound: models "
    "use more words than rules do, and repairs and revisions are not counted. For a better estimate, run a few cases "
    "and pass that run with --like."
)


async def project(experiment: Experiment, out: Path, like: Path | None = None) -> Table:
    """Project a run from the run in ``like``, or from its own results so far in ``out``, or from a rehearsal.

    ``like`` holds a smaller run of the same kind; ``out`` need not exist. The notes of the table say what it rests on.

    Raises:
        ConfigurationError: bad configuration or data, or no case in ``like`` asked a model.
    """
    items = select(experiment.data).items
    cases = len(items) * experiment.epochs
    so_far = find_runs([out])[0] if is_run(out) else None
    finished = len(so_far.results) if so_far else 0
    run = find_run(like) if like is not None else so_far if finished else None
    left = max(0, cases - finished)
    notes = [f"{finished} of {cases} cases are already done."] * (left < cases)
    taken = [result for result in run.results if result.calls] if run is not None else []
    if like is not None and not taken:
        raise ConfigurationError(f"{like}: no case of this run asked a model")
    if run is not None and taken:
        concurrency = experiment.run.concurrency
        seconds = (mean([result.seconds for result in taken]) or 0.0) * left / concurrency
        notes += [
            f"Estimated from {counted(len(taken), 'case')} of {run.path}, at list prices or those of "
            "[workflow.prices].",
            f"Time left: {timedelta(seconds=round(seconds))} at a concurrency of {concurrency}.",
        ]
        return _table(run, left, len(taken), experiment.epochs, notes)
    spread = items[:: max(1, len(items) // SAMPLE)][:SAMPLE]
    chosen = {"case_ids": [item.id for item in spread], "limit": None, "shuffle": None, "sufficient": False}
    trial = experiment.model_copy(
        update={
            "data": experiment.data.model_copy(update=chosen),
            "workflow": {key: value for key, value in experiment.workflow.items() if key != "grow"},
            "limits": AllLimits(),
            "run": Run(),
            "epochs": 1,
        }
    )
    with tempfile.TemporaryDirectory() as folder, rehearsing():
        await run_experiment(trial, Path(folder))
        rehearsed = find_run(Path(folder))
        asks = any(result.calls for result in rehearsed.results)
        notes.append(_REHEARSED.format(counted(len(spread), "case")) if asks else "No role asks a model.")
        return _table(rehearsed, left, len(spread), experiment.epochs, notes)


def _table(run: RecordedRun, left: int, sample: int, epochs: int, notes: Sequence[str]) -> Table:
    """Tabulate calls, tokens and cost of the remaining cases by role and in total, from the measured cases' means."""
    tallies: dict[tuple[str, str], RoleTally] = defaultdict(RoleTally)
    total = RoleTally()
    for result in run.results:
        for call in run.trace(result).calls:
            if call.attempts:  # not answered by a rule
                tallies[call.role, call.model].add(call)
                total.add(call)
    unpriced = sorted({model for (_, model), one in tallies.items() if math.isnan(one.sums["cost"])})
    priced = [one.sums["cost"] for one in tallies.values() if not math.isnan(one.sums["cost"])]
    if unpriced and priced:
        total.sums["cost"] = sum(priced)
        unknown = f"The cost is without {', '.join(unpriced)}: no price is known ([workflow.prices] gives one)."
        notes = [unknown, *notes]
    rows = [
        {
            "role": role,
            "model": model,
            "calls": len(one.seconds) * left / sample,
            **{name: one.sums[name] * left / sample for name in ("input_tokens", "output_tokens", "cost")},
        }
        for (role, model), one in [*sorted(tallies.items()), (_TOTAL, total)]
    ]
    columns = [
        Column("role", "Role", key=True),
        Column("model", "Model", key=True),
        Column("calls", "Calls", form=",.0f"),
        Column("input_tokens", "Input tokens", form=",.0f"),
        Column("output_tokens", "Output tokens", form=",.0f"),
        Column("cost", "US dollars", form=",.2f"),
    ]
    title = f"Projected use of {counted(left, 'case')}" + (", each epoch counted" if epochs > 1 else "")
    return Table("projection", title, columns, rows, notes)
