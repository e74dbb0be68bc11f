"""Run a coroutine from code that is not one, whether or not the caller's own event loop is running."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple

import anyio

from llm.ask import in_loop_of_our_own

Returned = TypeVar("Returned")
Given = TypeVarTuple("Given")

_UNSEEN = 1.0  # seconds that a signal which comes in the moment before the wait may stay unseen


def run_alone(function: Callable[[*Given], Awaitable[Returned]], *given: *Given) -> Returned:
    """Run a coroutine function in the event loop of a command, which has nothing else to do."""
    with in_loop_of_our_own():
        return anyio.run(function, *given)


def in_own_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run a coroutine in an event loop and a thread of its own, with the caller's context variables; wait for it.

    Ctrl-C, and a notebook's interrupt, cancel it as they do under `asyncio.run`: it ends what it must before this
    raises `KeyboardInterrupt`.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Returned]]] = Future()

    async def interruptible() -> Returned:
        task = asyncio.create_task(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1) as executor, in_loop_of_our_own():
        outcome = executor.submit(contextvars.copy_context().run, asyncio.run, interruptible())
        try:
            while not wait([outcome], timeout=_UNSEEN).done:
                pass
        except KeyboardInterrupt:
            loop, task = started.result()
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(task.cancel)
            raise
        return outcome.result()
