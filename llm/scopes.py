"""What holds inside a block, and what is kept for one event loop."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[Value]:
    """Let a context variable hold a value inside the block and in tasks started in it."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def in_this_loop(kept: dict[asyncio.AbstractEventLoop, dict[Key, Value]]) -> dict[Key, Value]:
    """Return what is kept for the running event loop, and forget what was kept for closed loops.

    A weak-key dictionary would not help: a client's open connections refer to its loop.
    """
    for loop in list(kept):
        if loop.is_closed():
            kept.pop(loop, None)
    return kept.setdefault(asyncio.get_running_loop(), {})
