"""Bad input: the base class of its errors, and descriptions of faults, also in other people's code, for messages."""

import inspect
import re
import traceback
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from unicodedata import normalize

from pydantic import BaseModel, ValidationError

from cases.grouping import grouped

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Place = tuple[int | str, ...]

_UNKNOWN = "unknown field: "
_LISTED, _SHOWN = 30, 8  # known names: so many are all listed, and so many shown of more
_MEMBER = re.compile(r"(?:literal|list|dict|tuple|function-\w+)\[.*\]|constrained-\w+|int|float|str|bool", re.DOTALL)
_OF_TYPES = ("_type", "_parsing", "literal_error")  # ends of the kinds of faults of a value that has another type
_BEFORE = "Value error, "  # Pydantic's prefix to our own messages, and to those of others who build on it


class InputError(ValueError):
    """What was given cannot be used; the message says what is wrong. Commands print it, and exit with code 2."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the most similar known name; if none is similar, list them all, or of very many the least unlike."""
    name, known = str(name), sorted(known)
    if alike := get_close_matches(name, known, n=1):
        return f"did you mean {alike[0]!r}?"
    if len(known) <= _LISTED:
        return f"expected one of {', '.join(known)}"
    shown = sorted(get_close_matches(name, known, _SHOWN, cutoff=0.0))
    return f"expected one of {len(known)} names, such as {', '.join(shown)}"


def suggestion(name: str, known: Collection[str], otherwise: str = "") -> str:
    """Suggest up to three known names like an unknown one; ``otherwise`` if none is like it."""
    if alike := [one for one in known if normalize("NFC", one) == normalize("NFC", name)]:
        return f"did you mean {alike[0]!r}, which looks the same in other characters?"
    begun = [one for one in known if name and one.casefold().startswith(name.casefold())][:3]
    close = begun or get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise


def faults(error: ValidationError, of: Any = None, most: int | None = None) -> "list[ErrorDetails]":
    """Return each fault's place (``loc``), message (``msg``) and kind (``type``), or those of the first ``most``.

    With the type that did not fit (``of``), the message of an unknown field suggests the one that was meant.
    """
    found = grouped((_value(fault), fault) for fault in error.errors(include_url=False, include_context=False))
    told = (fault for place, of_value in found.items() for fault in _of_a_value(place, of_value, of))
    return list(islice(told, most))


def _value(fault: "ErrorDetails") -> Place:
    """Return the place of the value in which a fault is, up to the first that may be of several types."""
    return tuple(takewhile(lambda part: not _is_member(part), fault["loc"]))


def _is_member(part: int | str) -> bool:
    """Whether a part of a place is what Pydantic calls one of several types, and no field."""
    return isinstance(part, str) and _MEMBER.fullmatch(part) is not None


def _of_a_value(place: Place, found: "list[ErrorDetails]", of: Any) -> "Iterator[ErrorDetails]":
    """Yield the faults of a value without names of types; one that has none of its types has a single fault.

    Of a value that has one of its types, only what is wrong by this one is told.
    """
    is_of_several = any(fault["loc"] != place for fault in found)
    within = [fault for fault in found if not fault["type"].endswith(_OF_TYPES) or len(fault["loc"]) > len(place) + 1]
    if within or not is_of_several:
        for fault in within if is_of_several else found:
            loc = tuple(part for part in fault["loc"] if not _is_member(part))
            yield {**fault, "loc": loc, "msg": _unknown_field(fault, of) or _message(fault)}
        return
    messages = dict.fromkeys(_message(fault).partition(", unable to parse")[0] for fault in found)
    first, *others = [message for message in messages if "; did you mean " in message] or messages
    message = " or ".join([first, *(other.removeprefix("Input should be ") for other in others)])
    yield {**found[0], "loc": place, "msg": message}


def _unknown_field(fault: "ErrorDetails", of: Any) -> str:
    """Return the message of an unknown field of the type ``of``, or of what lies in it; empty for another fault."""
    if of is None or fault["type"] != "extra_forbidden":
        return ""
    *around, name = fault["loc"]
    models = _models_in(of)
    for part in around:  # a number, or a key of a mapping, has no field of its own
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return f"{_UNKNOWN}{nearest(name, {known for model in models for known in model.model_fields})}"


def is_unknown_field(message: str) -> bool:
    """Whether a message is that of an unknown field."""
    return message.startswith(_UNKNOWN)


def _models_in(hint: Any) -> list[type[BaseModel]]:
    """Return the models in a type: itself, or those of its members and entries."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return [hint]
    return [model for part in get_args(hint) for model in _models_in(part)]


def _message(fault: "ErrorDetails") -> str:
    """Return a fault's message without names of our classes."""
    if fault["type"] == "model_type":
        return "expected an object"
    if fault["type"] in ("bool_parsing", "bool_type"):
        return "expected true or false"
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        known = re.findall(r"'([^']*)'", fault["msg"])
        return fault["msg"] + "".join(f"; did you mean {one!r}?" for one in get_close_matches(fault["input"], known, 1))
    return as_said(fault["msg"]).replace("a valid tuple", "a valid list")


def as_said(message: str) -> str:
    """Return a message without what Pydantic puts before it."""
    return message.removeprefix(_BEFORE)


def in_a_line(error: BaseException, whole: str = "", most: int = 8) -> str:
    """Return an error on one line; of a `ValidationError`, the first faults with their places.

    Args:
        error: any error.
        whole: the place to name for a fault outside any field.
        most: the maximum number of faults.
    """
    if not isinstance(error, ValidationError):
        text = " ".join(str(error).split())
        unawaited = isinstance(error, AttributeError | TypeError) and "'coroutine' object" in text
        return f"{text}: is an `await` missing?" if unawaited else text
    return "; ".join(
        f"{place}: {message}" if place and not message.startswith(f"{place}: ") else message
        for place, message in placed_faults(error, whole, most)
    )


def placed_faults(error: ValidationError, whole: str = "", most: int = 8) -> list[tuple[str, str]]:
    """Return the place and message of the first faults; ``whole`` is the place of one outside any field."""
    return [(".".join(map(str, each["loc"])) or whole, each["msg"]) for each in faults(error, most=most)]


def line_in(error: BaseException, theirs: Any) -> str:
    """Return where in other people's code an error arose, as `` (my_ward.py, line 3)``; empty if not there.

    Args:
        error: the exception.
        theirs: their function, or the path of their file or package folder.
    """
    try:
        file = theirs if isinstance(theirs, Path) else Path(inspect.getsourcefile(theirs) or "of no file")
    except TypeError:  # a callable object
        return ""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    lines = [f"{path.name}, line {line}" for path, line in frames if file in (path, *path.parents)]
    return f" ({lines[-1]})" if lines else ""
