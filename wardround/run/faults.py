"""What went wrong with a case, in the words that a record keeps."""

import traceback
from pathlib import Path

from llm import AskError
from llm.masking import masked

_OF_LANGGRAPH = "During task with name"


def described(error: AskError) -> str:
    """Why a question got no answer, and where it was asked."""
    notes = (note for note in getattr(error, "__notes__", []) if not note.startswith(_OF_LANGGRAPH))
    return " ".join([str(error), *notes])


def fault(error: Exception) -> str:
    """An error that nobody expected, with the line that raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {masked(str(error))} ({Path(where.filename).name}, line {where.lineno})"
