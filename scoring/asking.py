"""One question about many items at once: the answers, and the reasons of those without one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import anyio

from llm import UNANSWERED

AT_ONCE = 8  # questions in flight
Item = TypeVar("Item")
Found = TypeVar("Found")


class Asked(NamedTuple, Generic[Item, Found]):
    """The answers by item, in the order of the items, and the reasons why other items have none."""

    answers: list[tuple[Item, Found]]
    failures: list[tuple[Item, str]]


async def ask_each(items: Sequence[Item], question: Callable[[Item], Awaitable[Found]]) -> Asked[Item, Found]:
    """Ask one question about each item, eight at a time; if it is not answered, only this item fails.

    Raises:
        Exception: any other error of the first question that failed.
    """
    answers: dict[int, Found] = {}
    failures: dict[int, str] = {}
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def ask_one(place: int) -> None:
        async with limit:
            try:
                answers[place] = await question(items[place])
            except UNANSWERED as error:
                failures[place] = f"{error.reason}: {error}"

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(items)):
                group.start_soon(ask_one, place)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return Asked(
        [(items[place], answers[place]) for place in sorted(answers)],
        [(items[place], failures[place]) for place in sorted(failures)],
    )
