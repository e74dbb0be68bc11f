"""The engine of one machine: all cases in this process, on its event loop."""

import asyncio
from collections.abc import Sequence

from nodes.context import Context
from scoring.suite import SUITES
from wardround.config.experiment import Experiment
from wardround.run.checkpoints import forget_thread, open_checkpoints
from wardround.run.engines.ray_writer import run_meter
from wardround.run.engines.work import Attempt, Finish, context_of_attempt, work_through
from wardround.run.one_case import Allowance, Outcome, run_case, thread_of
from wardround.run.tasks import TASKS
from wardround.store.run_directory import RunDirectory


async def run_here(
    experiment: Experiment, directory: RunDirectory, context: Context, left: Sequence[Attempt], finish: Finish
) -> None:
    """Run what is left of an experiment."""
    task, suite, limits = TASKS[experiment.graph], SUITES[experiment.scored_by], experiment.limits
    meter = await asyncio.to_thread(run_meter, limits.run, directory.trace_files())
    allowance = Allowance(meter, limits.case, limits.roles)
    async with open_checkpoints(experiment.run.checkpoints, directory.checkpoints) as checkpointer:
        graph = task.compiled(checkpointer)

        async def run_one(attempt: Attempt, _: int) -> Outcome:
            seen = context_of_attempt(context, attempt, directory.trace_file(*attempt.key))
            return await run_case(task, graph, suite, attempt.case, attempt.epoch, seen, allowance)

        async def forget(attempt: Attempt) -> None:
            await forget_thread(checkpointer, thread_of(attempt.case, attempt.epoch, context))

        # Pseudo-cases in the order of the run mean that no case starts before the one ahead of it has finished.
        at_once = 1 if context.grow == "in_order" else experiment.run.concurrency
        await work_through(left, at_once, run_one, finish, forget)
