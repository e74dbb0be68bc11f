"""Bad input: the base class of its errors, and descriptions of faults, also in other people's code, for messages."""

import errno
import inspect
import os
import re
import traceback
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from unicodedata import normalize

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_UNKNOWN = "unknown field: "
_LISTED, _SHOWN = 30, 8  # known names: so many are all listed, and so many shown of more
_BEFORE = "Value error, "  # Pydantic's prefix to our own messages


class InputError(ValueError):
    """What was given cannot be used; the message says what is wrong. Commands print it, and exit with code 2."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the most similar known name; if none is similar, list them all, or of very many the least unlike."""
    known = sorted(known)
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
    close = [one for one in known if name and one.startswith(name)][:3] or get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise


def faults(error: ValidationError, of: Any = None) -> "list[ErrorDetails]":
    """Return each fault's place (``loc``), message (``msg``) and kind (``type``).

    With the type that did not fit (``of``), the message of an unknown field suggests the one that was meant.
    """
    found = error.errors(include_url=False, include_context=False)
    return [{**fault, "msg": _unknown_field(fault, of) or _message(fault)} for fault in found]


def _unknown_field(fault: "ErrorDetails", of: Any) -> str:
    """Return the message of an unknown field of the type ``of``, or of what lies in it; empty for another fault."""
    if of is None or fault["type"] != "extra_forbidden":
        return ""
    *around, name = fault["loc"]
    models = _models_in(of)
    for part in around:  # a number, or a key of a mapping, has no field of its own
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return f"{_UNKNOWN}{nearest(str(name), {known for model in models for known in model.model_fields})}"


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
    return fault["msg"].removeprefix(_BEFORE).replace("a valid tuple", "a valid list")


def in_a_line(error: BaseException, whole: str = "", most: int = 8) -> str:
    """Return an error on one line; of a `ValidationError`, the first faults with their places.

    Args:
        error: any error.
        whole: the place to name for a fault outside any field.
        most: the maximum number of faults.
    """
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    return "; ".join(
        f"{place}: {message}" if place and not message.startswith(f"{place}: ") else message
        for place, message in placed_faults(error, whole, most)
    )


def placed_faults(error: ValidationError, whole: str = "", most: int = 8) -> list[tuple[str, str]]:
    """Return the place and message of the first faults; ``whole`` is the place of one outside any field."""
    return [(".".join(map(str, each["loc"])) or whole, each["msg"]) for each in faults(error)[:most]]


_KINDS = {  # kinds of files that are not UTF-8 text, by their first bytes
    b"\x1f\x8b": "compressed by gzip: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "Parquet: save it as JSON lines, for example by pandas.read_parquet(FILE).to_json(OUT, orient='records', "
    "lines=True)",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}


def kind_of_bytes(content: bytes) -> str | None:
    """Name a kind of file that is not UTF-8 text, with the remedy; None if it is another."""
    return next((kind for begins, kind in _KINDS.items() if content.startswith(begins)), None)


def unreadable(error: Exception, expected: str = "") -> str:
    """Say why a file could not be read: ``file not found``, or ``cannot be read (permission denied); expected ...``."""
    if isinstance(error, FileNotFoundError):
        return "file not found"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, UnicodeDecodeError):
        reason = (
            f"not UTF-8 at byte {error.start}: {kind_of_bytes(error.object) or f'{error.reason}; save it as UTF-8'}"
        )
    return f"cannot be read ({reason[:1].lower()}{reason[1:]})" + (f"; expected {expected}" if expected else "")


def state_of(path: Path) -> tuple[int, int] | None:
    """Return what an edit of a file changes, for caches of what it holds: its time and size; None without a file."""
    seen = path.stat() if path.is_file() else None
    return seen and (seen.st_mtime_ns, seen.st_size)


def unpiped(path: Path) -> Path:
    """Return the path of a file, unless it is a device without an end, such as `/dev/zero`, or a named pipe.

    At a pipe we would wait for ever; ``<(command)`` is none, nor is a terminal a device without an end.

    Raises:
        OSError: it is one.
    """
    terminal = ("/dev/tty", "/dev/pts/", "/dev/console")
    if path.is_block_device() or (
        path.is_char_device() and not os.path.realpath(path).startswith((os.devnull, *terminal))
    ):
        raise OSError(errno.EINVAL, "is a device; give a file", str(path))
    if path.is_fifo() and path.parent.parts[:2] not in (("/", "dev"), ("/", "proc")):
        raise OSError(errno.EINVAL, "is a named pipe; give a file, or <(command)", str(path))
    return path


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
