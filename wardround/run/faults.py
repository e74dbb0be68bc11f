"""What went wrong with a case, in the words that a record keeps."""

import traceback
from pathlib import Path

from llm import AskError
from llm.masking import masked


def described(error: AskError) -> str:
    """Why a question got no answer, and where it was asked."""
    return " ".join([str(error), *getattr(error, "__notes__", [])])


def fault(error: Exception) -> str:
    """An error that nobody expected, with the line that raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {masked(str(error))} ({Path(where.filename).name}, line {where.lineno})"
