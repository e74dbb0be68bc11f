"""Run a coroutine from code that is not one, whether or not the caller's own event loop is running."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import anyio

from llm.ask import in_loop_of_our_own
from llm.background import run_in_background

Returned = TypeVar("Returned")
Given = TypeVarTuple("Given")


def run_alone(function: Callable[[*Given], Coroutine[Any, Any, Returned]], *given: *Given) -> Returned:
    """Run a coroutine function in a loop that has nothing else to do or, if the caller's is running, in the background.

    The first is so in a command, the second in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with in_loop_of_our_own():
            return anyio.run(function, *given)
    return in_own_loop(function(*given))


def in_own_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run a coroutine in the background event loop, which has next to nothing else to do; wait for it."""
    with in_loop_of_our_own():
        return run_in_background(work)
