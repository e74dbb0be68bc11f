"""What went wrong with a case, in the words that a record keeps."""

import traceback
from pathlib import Path

from langgraph.errors import GraphRecursionError

from cases.registry import GivenError
from cases.validation import in_a_line
from llm import AskError
from llm.masking import masked
from prompts import PromptError
from wardround.plugins import plugin_of

PLUGIN_ERROR, PROMPT_ERROR = "plugin_error", "prompt_error"
_OF_LANGGRAPH = "During task with name"


def described(error: AskError) -> str:
    """Why a question got no answer, and where it was asked."""
    notes = (note for note in getattr(error, "__notes__", []) if not note.startswith(_OF_LANGGRAPH))
    return " ".join([str(error), *notes])


def fault(error: Exception) -> str:
    """An error that nobody expected, with the line that raised it, or of a plug-in's code the last that it came by."""
    told = f"{type(error).__name__}: {masked(in_a_line(error))}"
    if isinstance(error, GraphRecursionError):
        told = "GraphRecursionError: a graph goes round without an end; count its rounds in the state, and stop"
    place = plugin_of(error)
    if not place and isinstance(error, GivenError | GraphRecursionError):  # raised by a line of ours that is sound
        return told
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{told} ({place or f'{Path(where.filename).name}, line {where.lineno}'})"


def termination_of(error: Exception) -> str:
    """How a case has ended that ends by an error that nobody expected: whose fault it is."""
    if isinstance(error, PromptError):
        return PROMPT_ERROR
    # Ours count their rounds, so that a graph without an end is somebody else's.
    if plugin_of(error) or isinstance(error, GivenError | GraphRecursionError):
        return PLUGIN_ERROR
    # SQLite or Postgres with the checkpoints failed, and not the case.
    of_database = type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg", "psycopg_pool")
    return "checkpoint_error" if of_database else "internal_error"
