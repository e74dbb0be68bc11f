"""Keep what goes wrong with a case inside it, and describe why it failed in the words of its result line."""

import asyncio
import re
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from langgraph.errors import GraphRecursionError, InvalidUpdateError, NodeCancelledError

from cases.registry import GivenError
from cases.validation import in_a_line
from llm import AskError
from llm.errors import PROMPT_ERROR
from llm.masking import masked
from prompts import PromptError
from scoring.case_scores import ends_more_than_a_case
from wardround.plugins import plugin_of

PLUGIN_ERROR, INTERNAL_ERROR = "plugin_error", "internal_error"
_LANGGRAPH_NOTE = "During task with name"
_IN_NODE = re.compile(rf"{_LANGGRAPH_NOTE} '([^']*)'")

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
        raise ContainedError(repr(error)) from error


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
        raise ContainedError(repr(error)) from error


def why_unanswered(error: AskError) -> str:
    """Return why a question got no answer, and where it was asked."""
    notes = (note for note in getattr(error, "__notes__", []) if not note.startswith(_LANGGRAPH_NOTE))
    return " ".join([str(error), *notes])


def describe_fault(error: BaseException) -> str:
    """Describe an unexpected error, with the line that raised it, or the innermost line of plug-in code."""
    error = raised_by_code(error)
    message = f"{type(error).__name__}: {masked(in_a_line(error))}"
    if isinstance(error, asyncio.CancelledError):
        message = "CancelledError: raised by the code itself; nothing cancelled the case"
    if isinstance(error, GraphRecursionError):
        message = (
            "GraphRecursionError: a graph loops without end; count its rounds under a key that its state declares (a "
            "node's update of any other is dropped), and stop"
        )
    place = plugin_of(error)
    if not place and isinstance(error, GivenError | GraphRecursionError):  # raised by correct code of ours
        return message
    where = traceback.extract_tb(error.__traceback__)[-1]
    node = next((_IN_NODE.match(note) for note in getattr(error, "__notes__", [])), None)  # the innermost one
    step = f"node {node[1]!r}, " if node else ""
    return f"{message} ({place or f'{step}{Path(where.filename).name}, line {where.lineno}'})"


def termination_of(error: BaseException) -> str:
    """Return the termination reason of an unexpected error: a prompt, a plug-in, the database, or a bug of ours."""
    error = raised_by_code(error)
    if isinstance(error, PromptError):
        return PROMPT_ERROR
    # Our graphs count their rounds, and join what branches return, so the others are a plug-in's.
    if plugin_of(error) or isinstance(error, GivenError | GraphRecursionError | InvalidUpdateError):
        return PLUGIN_ERROR
    # The database of the checkpoints failed, not the case.
    of_database = type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg", "psycopg_pool")
    return "checkpoint_error" if of_database else INTERNAL_ERROR
