"""Run a coroutine from code that is not one, whether or not the caller's own event loop is running."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import anyio

from llm.ask import in_loop_of_our_own
from llm.background import run_in_background

Returned = TypeVar("Returned")
Given = TypeVarTuple("Given")


def run_alone(function: Callable[[*Given], Awaitable[Returned]], *given: *Given) -> Returned:
    """Run a coroutine function in the event loop of a command, which has nothing else to do."""
    with in_loop_of_our_own():
        return anyio.run(function, *given)


def in_own_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run a coroutine in the background event loop, which has next to nothing else to do; wait for it."""
    with in_loop_of_our_own():
        return run_in_background(work)
