"""Keep what a plug-in raises inside its case: `SystemExit` too, and the error of a cancelled task."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from langgraph.errors import NodeCancelledError

from scoring.case_scores import ends_more_than_a_case
from wardround.plugins import plugin_of

T = TypeVar("T")


class ContainedError(Exception):
    """Stands for an error that would have ended more than its case; its cause is that error."""


async def contained(work: Coroutine[Any, Any, T]) -> T:
    """Await the work of a case; an error of a plug-in's that would end the run becomes a `ContainedError`."""
    try:
        return await work
    except Exception:
        raise
    except BaseException as error:
        theirs = isinstance(error, SystemExit | asyncio.CancelledError) or plugin_of(error)
        if ends_more_than_a_case(error) or not theirs:
            raise
        raise ContainedError from error


def raised_by_code(error: BaseException) -> BaseException:
    """Return the error that a plug-in raised, if this one stands for it."""
    return error.__cause__ or error if isinstance(error, ContainedError | NodeCancelledError) else error


def contain_tasks() -> None:
    """Let no task of the running loop end the loop, as asyncio does when one raises `SystemExit`."""
    loop = asyncio.get_running_loop()
    if loop.get_task_factory() is None:
        loop.set_task_factory(_contained_task)


def _contained_task(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> "asyncio.Task[Any]":
    task = asyncio.Task(_without_exit(work), loop=loop, **given)
    task.add_done_callback(lambda _: work.close())  # of a task that was cancelled before it began
    return task


async def _without_exit(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except SystemExit as error:
        raise ContainedError from error
