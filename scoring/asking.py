"""What all judges have in common: one question about each of many things."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import anyio

from llm import UNANSWERED

AT_ONCE = 8  # questions in flight

Item = TypeVar("Item")
Found = TypeVar("Found")


class Asked(NamedTuple, Generic[Item, Found]):
    """What was found about each item that has an answer, in the order of the items; and why others have none."""

    answers: list[tuple[Item, Found]]
    failures: list[tuple[Item, str]]


async def ask_each(items: Sequence[Item], question: Callable[[Item], Awaitable[Found]]) -> Asked[Item, Found]:
    """Put a question about each item, eight at a time.

    Args:
        items: what is asked about.
        question: asks about one; an answer that does not come is a failure of this item alone.

    Raises:
        Exception: whatever else the first question that went wrong raised.
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
