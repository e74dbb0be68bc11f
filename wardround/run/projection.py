"""Project what a run will take (calls, tokens, cost, time) from a rehearsal of some cases or from a recorded run."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from llm.prices import cost_of
from llm.rehearsal import PICTURE_TOKENS, rehearsing
from llm.settings import ModelSettings
from llm.specs import WITHOUT_MODEL
from llm.trace import Call
from scoring.metrics.samples import mean
from wardround.analysis.notes import uncounted_notes
from wardround.config.experiment import AllLimits, ConfigurationError, Experiment, Run
from wardround.config.selection import Selection, select
from wardround.printing import counted
from wardround.run.runner import run_experiment
from wardround.store.manifest import is_run
from wardround.store.recorded_run import RecordedRun, find_run, find_runs
from wardround.store.result import Result
from wardround.tables.models import RoleTally
from wardround.tables.table import Column, Table

SAMPLE = 20  # cases rehearsed
_TOTAL = ("all", "")
_REHEARSED = (
    "Estimated from an offline rehearsal of {}, at four bytes per token and "
    f"{PICTURE_TOKENS:,} tokens per picture (models differ widely in these). "
    "The output tokens are a lower bound: models use more words than rules do, and repairs and revisions are not "
    "counted. For a better estimate, run a few cases and pass that run with --like."
)


async def project(
    experiment: Experiment, out: Path, like: Path | None = None, selection: Selection | None = None
) -> Table:
    """Project a run from the run in ``like``, or from its own results so far in ``out``, or from a rehearsal.

    ``like`` holds a smaller run of the same kind; ``out`` need not exist. The notes of the table say what it rests on.
    A ``selection`` that was read already is not read again.

    Raises:
        ConfigurationError: bad configuration or data, or no case in ``like`` asked a model.
    """
    selection = selection or select(experiment.data)
    items = selection.items
    cases = len(items) * experiment.epochs
    so_far = find_runs([out])[0] if is_run(out) else None
    retry_failed = experiment.run.retry_failed
    finished = sum(result.is_kept(retry_failed=retry_failed) for result in so_far.results) if so_far else 0
    run = find_run(like) if like is not None else so_far
    left = max(0, cases - finished)
    notes = [f"{finished} of {cases} cases are already done."] * (left < cases)
    # What the run would take up again, as after an outage, did not use what a case uses.
    taken = [result for result in run.results if result.calls and result.final] if run is not None else []
    if like is not None and not taken:
        raise ConfigurationError(f"{like}: no case that this run finished asked a model")
    if run is not None and taken:
        concurrency = experiment.run.concurrency
        seconds = (mean([result.seconds for result in taken]) or 0.0) * max(min(left, 1), left / concurrency)
        notes += [
            f"Estimated from {counted(len(taken), 'case')} of {run.path}, at list prices or those of "
            "[workflow.prices].",
            f"Time left: {timedelta(seconds=round(seconds))} at a concurrency of {concurrency}.",
        ]
        return _table(run, taken, left, experiment, notes)
    sample = min(SAMPLE, len(items))
    spread = [items[place * len(items) // sample] for place in range(sample)]
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
        await run_experiment(trial, Path(folder), selection=replace(selection, items=spread))
        rehearsed = find_run(Path(folder))
        asks = any(result.calls for result in rehearsed.results)
        notes.append(_REHEARSED.format(counted(len(spread), "case")) if asks else "No role asks a model.")
        return _table(rehearsed, rehearsed.results, left, experiment, notes)


def _table(run: RecordedRun, taken: Sequence[Result], left: int, experiment: Experiment, notes: Sequence[str]) -> Table:
    """Tabulate calls, tokens and cost of the remaining cases by role and in total, from the means of ``taken``."""
    tallies: dict[tuple[str, str], RoleTally] = defaultdict(RoleTally)
    total = RoleTally()
    context = experiment.context
    for result in taken:
        for call in run.trace(result).calls:
            if call.is_asked:
                call = call.model_copy(update={"cost": _cost(call, context)})
                tallies[call.role, call.model].add(call)
                total.add(call)
    sample = len(taken)
    notes = [*notes, *_differences(run, tallies, total, context)]
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
    title = f"Projected use of {counted(left, 'case')}" + (", each epoch counted" if experiment.epochs > 1 else "")
    return Table("projection", title, columns, rows, notes)


def _cost(call: Call, context: ModelSettings) -> float | None:
    """Return the cost of a call that the run would ask, by its prices and not from a cache; as recorded for others."""
    if call.model not in context.models.values():
        return call.cost
    return cost_of(call.model, call.input_tokens, call.output_tokens, context, call.started)


def _differences(
    run: RecordedRun, tallies: Collection[tuple[str, str]], total: RoleTally, context: ModelSettings
) -> Iterator[str]:
    """Say what makes a run that is projected from unlike the one that is projected."""
    if others := sorted({model for _, model in tallies}.difference(context.models.values())):
        asked = sorted({*context.models.values()}.difference(WITHOUT_MODEL)) or ["no model"]
        yield f"{run.path} asked {', '.join(others)}, this run asks {', '.join(asked)}: tokens and cost will differ."
    if cached := int(total.sums["cached"]):
        yield (
            f"{cached} of the {len(total.seconds)} calls there came from its cache; here they are priced as asked, and "
            "take longer."
        )
    yield from uncounted_notes(int(total.sums["uncounted"]))
