import asyncio

import pytest

from llm.errors import ModelError
from scoring.asking import AT_ONCE, ask_each


def test_answers_and_failures_stand_in_the_order_of_the_items_however_they_come_in() -> None:
    async def question(item: int) -> str:
        await asyncio.sleep(0.001 * (5 - item))
        if item % 2:
            raise ModelError(f"no {item}")
        return f"yes {item}"

    asked = asyncio.run(ask_each([0, 1, 2, 3, 4], question))
    assert asked.answers == [(0, "yes 0"), (2, "yes 2"), (4, "yes 4")]
    assert asked.failures == [(1, f"{ModelError.reason}: no 1"), (3, f"{ModelError.reason}: no 3")]


def test_no_more_than_eight_questions_are_in_flight() -> None:
    flying: set[int] = set()
    most = []

    async def question(item: int) -> None:
        flying.add(item)
        most.append(len(flying))
        await asyncio.sleep(0)
        flying.remove(item)

    asyncio.run(ask_each(range(30), question))
    assert max(most) == AT_ONCE == 8


def test_what_is_no_failure_to_answer_is_raised_as_it_is() -> None:
    async def question(item: int) -> None:
        raise ZeroDivisionError(item)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask_each([1, 2, 3], question))
