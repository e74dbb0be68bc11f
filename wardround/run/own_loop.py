"""Run a coroutine from code that is not one, whether or not the caller's own event loop is running."""

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Returned = TypeVar("Returned")


def in_own_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run a coroutine in an event loop and a thread of its own, with the caller's context variables; wait for it."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(contextvars.copy_context().run, asyncio.run, work).result()
