"""Judges of one case are asked side by side."""

import asyncio

import pytest

from llm import side_by_side


async def test_each_is_asked_at_once_and_an_error_waits_until_all_are_done() -> None:
    met, heard = asyncio.Barrier(2), list[str]()

    async def fails() -> None:
        await met.wait()
        raise ValueError("not readable")

    async def answers() -> None:
        await met.wait()
        await asyncio.sleep(0)
        heard.append("yes")

    with pytest.raises(ValueError, match="not readable"):
        async with asyncio.timeout(20):
            await side_by_side([fails(), answers()])
    assert heard == ["yes"]
