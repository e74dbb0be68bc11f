"""The event loop of calls that are no coroutines, in a thread of its own: they share it, and thus their connections."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from llm.scopes import holding

Returned = TypeVar("Returned")

_UNSEEN = 1.0  # seconds that a signal which comes in the moment before the wait may stay unseen
_depth: ContextVar[int] = ContextVar("depth", default=0)  # how many such calls the code is inside


def run_in_background(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run a coroutine in the process's background event loop, with the caller's context variables; wait for it.

    All such calls share this loop, whether or not the caller's own is running: the connections of a model object belong
    to the loop that opened them. A call made by code that runs in it, which blocks it, has the next. Ctrl-C, and a
    notebook's interrupt, cancel the work as they do under `asyncio.run`: it ends what it must before this raises
    `KeyboardInterrupt`.
    """
    outcome: Future[Returned] = Future()
    depth, begun = _depth.get(), list[asyncio.Task[None]]()
    loop = _background_loop(depth)

    async def run() -> None:
        with holding(_depth, depth + 1):
            try:
                outcome.set_result(await work)
            except BaseException as error:
                outcome.set_exception(error)

    def begin() -> None:
        begun.append(loop.create_task(run()))
        begun[0].add_done_callback(ended)

    def ended(_: asyncio.Task[None]) -> None:
        if not outcome.done():  # it was cancelled before its first step
            work.close()
            outcome.set_exception(asyncio.CancelledError())

    loop.call_soon_threadsafe(begin)  # in a copy of the caller's context
    try:
        while not wait([outcome], timeout=_UNSEEN).done:
            pass
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: begun[0].cancel())
        wait([outcome])
        raise
    return outcome.result()


@cache
def _background_loop(depth: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def run() -> None:
        while not loop.is_closed():
            with suppress(SystemExit, KeyboardInterrupt):  # of a task: they end a loop, and all callers would wait
                loop.run_forever()

    threading.Thread(target=run, name="wardround-sync", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # a forked process has no threads but its own, so the loop would never run there
    os.register_at_fork(after_in_child=_background_loop.cache_clear)
