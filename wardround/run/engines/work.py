"""What every engine does: cases from a queue, some at once, until none is left or the run has used up its means."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from nodes.context import Context
from wardround.config.selection import Item as RunItem
from wardround.run.one_case import Outcome
from wardround.store.run_directory import RunDirectory


class Attempt(NamedTuple):
    """One case (or note) in one epoch, and its place in the order of the run."""

    position: int
    case: RunItem
    epoch: int

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the run's others."""
        return self.case.id, self.epoch


Item = TypeVar("Item")
Finish = Callable[[Outcome], None]
RunCases = Callable[[RunDirectory, Context, Sequence[Attempt], Finish], Awaitable[None]]


async def work_through(
    attempts: Sequence[Attempt],
    at_once: int,
    run_one: Callable[[Attempt, int], Awaitable[Outcome]],
    finish: Finish,
    forget: Callable[[Attempt], Awaitable[None]],
) -> None:
    """Run attempts in their order, some at once; begin no more when the run's limit is reached.

    Args:
        attempts: what is left of the run.
        at_once: how many slots there are.
        run_one: given an attempt and its slot, from 0.
        finish: keeps an outcome.
        forget: drops the checkpoints of an attempt whose outcome is kept and final; another goes on where it failed.
    """
    out_of_means = False

    async def work(attempt: Attempt, slot: int) -> bool:
        nonlocal out_of_means
        outcome = await run_one(attempt, slot)
        finish(outcome)
        out_of_means |= outcome.result.limited_by_run
        if outcome.result.final:
            await forget(attempt)
        return not out_of_means

    await some_at_once(attempts, at_once, work)


async def some_at_once(items: Sequence[Item], at_once: int, work: Callable[[Item, int], Awaitable[bool]]) -> None:
    """Work on items in their order, some at once; the first error ends all.

    Args:
        items: what is to be done.
        at_once: how many slots there are.
        work: given an item and its slot, from 0; says whether the slot takes another.
    """
    queue = iter(items)

    async def fill(slot: int) -> None:
        for item in queue:
            if not await work(item, slot):
                return

    try:
        async with asyncio.TaskGroup() as group:
            for slot in range(min(at_once, len(items))):
                group.create_task(fill(slot))
    except ExceptionGroup as group_of_errors:
        raise group_of_errors.exceptions[0] from None


def context_of_attempt(context: Context, attempt: Attempt, trace_file: Path) -> Context:
    """The context of one case: epochs are to differ where a model samples, so each has a seed of its own."""
    return context.model_copy(
        update={
            "position": attempt.position,
            "trace_file": str(trace_file),
            "seed": (context.seed or 0) + attempt.epoch,
            "epoch": attempt.epoch,
        }
    )
