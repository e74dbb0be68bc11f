"""The local engine: all cases in this process, on its event loop."""

import asyncio
from collections.abc import Sequence

from nodes.context import Context
from wardround.config.experiment import Experiment
from wardround.run.checkpoints import open_sqlite, serializer
from wardround.run.engines.work import Finish, work_through
from wardround.run.one_case import Attempt, Outcome, run_case
from wardround.run.postgres import open_postgres
from wardround.run.tasks import TASKS
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import run_meter


async def run_here(
    experiment: Experiment, directory: RunDirectory, context: Context, left: Sequence[Attempt], finish: Finish
) -> None:
    """Run what is left of an experiment."""
    meter = await asyncio.to_thread(run_meter, experiment.limits.run, directory.traces)
    url = experiment.run.checkpoints
    async with open_postgres(url, serializer()) if url else open_sqlite(directory.checkpoints) as checkpointer:
        graph = TASKS[experiment.graph].compiled(checkpointer, context)

        async def run_one(attempt: Attempt, _: int) -> Outcome:
            return await run_case(experiment, graph, attempt, context, directory.trace_file(*attempt.key), meter)

        # For pseudo-cases in the order of the run, a case must not start before the previous one has finished.
        at_once = 1 if context.grow == "in_order" else experiment.run.concurrency
        await work_through(left, at_once, run_one, finish, checkpointer, context.run)
