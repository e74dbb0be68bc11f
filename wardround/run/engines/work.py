"""What every engine does: cases from a queue, some at once, until none is left or the run has used up its means."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from nodes.context import Context
from wardround.run.one_case import Attempt, Outcome
from wardround.store.run_directory import RunDirectory

Finish = Callable[[Outcome], None]
RunCases = Callable[[RunDirectory, Context, Sequence[Attempt], Finish], Awaitable[None]]


async def work_through(
    attempts: Sequence[Attempt],
    at_once: int,
    run_one: Callable[[Attempt, int], Awaitable[Outcome]],
    finish: Finish,
    forget: Callable[[Attempt], Awaitable[None]],
) -> None:
    """Run attempts in their order, some at once, until the run's limit is reached; the first error ends all.

    Args:
        attempts: what is left of the run.
        at_once: how many slots there are.
        run_one: given an attempt and its slot, from 0.
        finish: keeps an outcome.
        forget: drops the checkpoints of an attempt whose outcome is kept and final; another goes on where it failed.
    """
    queue = iter(attempts)
    out_of_means = False

    async def fill(slot: int) -> None:
        nonlocal out_of_means
        while not out_of_means and (attempt := next(queue, None)):
            outcome = await run_one(attempt, slot)
            finish(outcome)
            out_of_means |= outcome.result.limited_by_run
            if outcome.result.final:
                await forget(attempt)

    try:
        async with asyncio.TaskGroup() as group:
            for slot in range(min(at_once, len(attempts))):
                group.create_task(fill(slot))
    except ExceptionGroup as group_of_errors:
        raise group_of_errors.exceptions[0] from None
