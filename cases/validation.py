"""What a type, or somebody else's function, finds wrong, as whoever said it said it."""

import inspect
import re
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_BEFORE = "Value error, "  # what Pydantic puts before a sentence of ours


def faults(error: ValidationError) -> "list[ErrorDetails]":
    """Each fault: where it is (``loc``), what is said of it (``msg``), and of which kind it is (``type``)."""
    found = error.errors(include_url=False, include_context=False)
    return [{**each, "msg": _said(each)} for each in found]


def _said(fault: "ErrorDetails") -> str:
    """In words that name no class of ours."""
    if fault["type"] == "model_type":
        return "expected an object"
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        known = re.findall(r"'([^']*)'", fault["msg"])
        return fault["msg"] + "".join(f"; did you mean {one!r}?" for one in get_close_matches(fault["input"], known, 1))
    return fault["msg"].removeprefix(_BEFORE).replace("a valid tuple", "a valid list")


def in_a_line(error: BaseException, whole: str = "", most: int = 8) -> str:
    """An error in one line; of a `ValidationError` the first faults, each with its place.

    Args:
        error: any error.
        whole: what stands for the place of a fault that is in no field.
        most: how many faults are told.
    """
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    placed = ((".".join(map(str, each["loc"])) or whole, each["msg"]) for each in faults(error)[:most])
    return "; ".join(f"{place}: {message}" if place else message for place, message in placed)


def line_in(error: BaseException, theirs: Any) -> str:
    """Where in somebody else's code an error came from, ``(my_ward.py, line 3)`` after a space; nothing if nowhere.

    Args:
        error: what was raised.
        theirs: their function, or the path of their file, or of the folder of their package.
    """
    try:
        file = theirs if isinstance(theirs, Path) else Path(inspect.getsourcefile(theirs) or "of no file")
    except TypeError:  # an object that is called like a function
        return ""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    lines = [f"{path.name}, line {line}" for path, line in frames if file in (path, *path.parents)]
    return f" ({lines[-1]})" if lines else ""
