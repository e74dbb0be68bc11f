"""Project what a run will take (calls, tokens, cost, time) from a rehearsal of some cases or from a recorded run."""

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm.rehearsal import rehearsing
from llm.trace import Call
from scoring.metrics.samples import mean
from wardround.analysis.summary import summed
from wardround.commands.printing import counted
from wardround.config.experiment import AllLimits, ConfigurationError, Experiment, Run
from wardround.config.selection import select
from wardround.run.runner import run_experiment
from wardround.store.manifest import is_run
from wardround.store.recorded_run import RecordedRun, find_runs, open_run
from wardround.tables.table import Column, Table

SAMPLE = 20  # cases rehearsed
_TOTAL = "all"


@dataclass(frozen=True)
class Projection:
    """The projected needs of a run."""

    cases: int  # in the whole run, counted once per epoch
    left: int  # of these, not yet done
    measured: Path | None  # the run directory measured; None for a rehearsal
    sample: int  # number of cases the projection rests on
    table: Table  # by role and in total
    seconds: float | None = None  # until all cases are done; None for a rehearsal


async def project(experiment: Experiment, out: Path, like: Path | None = None) -> Projection:
    """Project a run from the run in ``like``, or from its own results so far in ``out``, or from a rehearsal.

    ``like`` holds a smaller run of the same kind; ``out`` need not exist.

    Raises:
        ConfigurationError: bad configuration or data, or no case in ``like`` asked a model.
    """
    items = select(experiment.data).items
    cases = len(items) * experiment.epochs
    so_far = find_runs([out])[0] if is_run(out) else None
    finished = len(so_far.results) if so_far else 0
    run = open_run(like) if like is not None else so_far if finished else None
    left = max(0, cases - finished)
    taken = [result for result in run.results if result.calls] if run is not None else []
    if like is not None and not taken:
        raise ConfigurationError(f"{like}: no case of this run asked a model")
    if run is not None and taken:
        seconds = (mean([result.seconds for result in taken]) or 0.0) * left / experiment.run.concurrency
        return Projection(cases, left, run.path, len(taken), _table(run, left, len(taken), experiment.epochs), seconds)
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
        table = _table(open_run(Path(folder)), left, len(spread), experiment.epochs)
        return Projection(cases, left, None, len(spread), table)


def _table(run: RecordedRun, left: int, sample: int, epochs: int) -> Table:
    """Tabulate calls, tokens and cost of the remaining cases by role and in total, from the measured cases' means."""
    by_role: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for result in run.results:
        for call in run.trace(result).calls:
            if call.attempts:  # not answered by a rule
                by_role[call.role, call.model].append(call)
    every = [*sorted(by_role.items()), ((_TOTAL, ""), [call for calls in by_role.values() for call in calls])]
    rows = [_row(role, model, calls, left / sample) for (role, model), calls in every]
    columns = [Column("role", "Role", key=True), Column("model", "Model", key=True)]
    columns += [Column(name, title, form=",.0f") for name, title in (("calls", "Calls"), ("read", "Input tokens"))]
    columns += [Column("written", "Output tokens", form=",.0f"), Column("cost", "US dollars", form=",.2f")]
    title = f"Projected use of {counted(left, 'case')}" + (", each epoch counted" if epochs > 1 else "")
    return Table("projection", title, columns, rows)


def _row(role: str, model: str, calls: Sequence[Call], share: float) -> dict[str, float | str | None]:
    known = summed(call.cost for call in calls)
    return {
        "role": role,
        "model": model,
        "calls": share * len(calls),
        "read": share * sum(call.input_tokens for call in calls),
        "written": share * sum(call.output_tokens for call in calls),
        "cost": None if known is None else share * known,
    }
