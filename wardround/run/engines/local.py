"""The local engine: all cases in this process, on its event loop."""

import asyncio
from collections.abc import Collection, Sequence

from nodes.context import Context
from nodes.workflow.case_retrieval import memory_of
from retrieval import RememberedCase
from wardround.config.experiment import Experiment
from wardround.run.checkpoints import open_sqlite
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
    async with open_postgres(url) if url else open_sqlite(directory.checkpoints) as checkpointer:
        graph = TASKS[experiment.graph].compiled(checkpointer, context)

        in_order = context.grow == "in_order"
        again = {attempt.position for attempt in left}  # and not completed yet
        rewind = (
            in_order and bool(left) and any(order > left[0].position for order in _courses(directory).keys() - again)
        )

        async def run_one(attempt: Attempt, _: int) -> Outcome:
            if rewind:
                await asyncio.to_thread(_remember_as_at, attempt.position, again, directory, context)
            outcome = await run_case(experiment, graph, attempt, context, directory.trace_file(*attempt.key), meter)
            if outcome.course is not None:
                again.discard(attempt.position)
            return outcome

        # For pseudo-cases in the order of the run, a case must not start before the previous one has finished.
        at_once = 1 if in_order else experiment.run.concurrency
        await work_through(left, at_once, run_one, finish, checkpointer, context.run)


def _remember_as_at(position: int, without: Collection[int], directory: RunDirectory, context: Context) -> None:
    """Have the pseudo-cases that a case at this position met: of a case in two epochs, the later one is in its place.

    A case that is run again may stand before finished ones, whose next epoch has replaced what it is to recall.
    """
    courses = sorted(_courses(directory).items())
    earlier = [course for order, course in courses if order < position and order not in without]
    memory_of(context).restore(earlier)


def _courses(directory: RunDirectory) -> dict[int, RememberedCase]:
    """Return the pseudo-cases of a run's record, by position."""
    courses = map(RememberedCase.model_validate_json, directory.remembered())
    return {course.order: course for course in courses if course.order is not None}
