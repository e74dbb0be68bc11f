"""The loop shared by all engines: run cases from a queue, several at once, until none is left or a limit is reached."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from nodes.context import Context
from wardround.run.checkpoints import forget_thread, forget_threads
from wardround.run.one_case import Attempt, Outcome, thread_of
from wardround.store.run_directory import RunDirectory

Finish = Callable[[Outcome], None]
RunCases = Callable[[RunDirectory, Context, Sequence[Attempt], Finish], Awaitable[None]]


async def work_through(
    attempts: Sequence[Attempt],
    at_once: int,
    run_one: Callable[[Attempt, int], Awaitable[Outcome]],
    finish: Finish,
    checkpointer: BaseCheckpointSaver[Any] | None,
    run: str,
) -> None:
    """Run attempts in order, several at once, until none is left or the run reaches a limit; the first error ends all.

    The checkpoints of an attempt are deleted once its recorded outcome is final; other attempts can be resumed.

    Args:
        attempts: what is left of the run.
        at_once: number of slots.
        run_one: runs an attempt in a slot (counted from 0).
        finish: records an outcome.
        checkpointer: of this process; None if there is none, as with workers that keep their checkpoints in memory.
        run: the run's id.
    """
    if checkpointer is not None:
        await forget_threads(checkpointer, run, {thread_of(attempt, run) for attempt in attempts})
    queue = iter(attempts)
    exhausted = False

    async def fill(slot: int) -> None:
        nonlocal exhausted
        while not exhausted and (attempt := next(queue, None)):
            outcome = await run_one(attempt, slot)
            finish(outcome)
            exhausted |= outcome.result.limited_by_run
            if outcome.result.final and checkpointer is not None:
                await forget_thread(checkpointer, thread_of(attempt, run))

    try:
        async with asyncio.TaskGroup() as group:
            for slot in range(min(at_once, len(attempts))):
                group.create_task(fill(slot))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
