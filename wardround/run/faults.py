"""Describe why a case failed, in the words of its result line."""

import asyncio
import traceback
from pathlib import Path

from langgraph.errors import GraphRecursionError

from cases.registry import GivenError
from cases.validation import in_a_line
from llm import AskError
from llm.masking import masked
from prompts import PromptError
from wardround.plugins import plugin_of
from wardround.run.containing import raised_by_code

PLUGIN_ERROR, PROMPT_ERROR = "plugin_error", "prompt_error"
_LANGGRAPH_NOTE = "During task with name"


def described(error: AskError) -> str:
    """Return why a question got no answer, and where it was asked."""
    notes = (note for note in getattr(error, "__notes__", []) if not note.startswith(_LANGGRAPH_NOTE))
    return " ".join([str(error), *notes])


def fault(error: BaseException) -> str:
    """Describe an unexpected error, with the line that raised it, or the innermost line of plug-in code."""
    error = raised_by_code(error)
    message = f"{type(error).__name__}: {masked(in_a_line(error))}"
    if isinstance(error, asyncio.CancelledError):
        message = "CancelledError: raised by the code itself; nothing cancelled the case"
    if isinstance(error, GraphRecursionError):
        message = "GraphRecursionError: a graph loops without end; count its rounds in the state, and stop"
    place = plugin_of(error)
    if not place and isinstance(error, GivenError | GraphRecursionError):  # raised by correct code of ours
        return message
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{message} ({place or f'{Path(where.filename).name}, line {where.lineno}'})"


def termination_of(error: BaseException) -> str:
    """Return the termination reason of an unexpected error: a prompt, a plug-in, the database, or a bug of ours."""
    error = raised_by_code(error)
    if isinstance(error, PromptError):
        return PROMPT_ERROR
    # Our graphs count their rounds, so an endless one comes from a plug-in.
    if plugin_of(error) or isinstance(error, GivenError | GraphRecursionError):
        return PLUGIN_ERROR
    # The database of the checkpoints failed, not the case.
    of_database = type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg", "psycopg_pool")
    return "checkpoint_error" if of_database else "internal_error"
