"""Types of fields that hold the path of a file, whether or not it exists."""

import errno
import os
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator


def nameable(path: str) -> str:
    """Return a path, whether or not there is a file.

    Raises:
        ValueError: no file can have this name.
    """
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        if not path:
            raise ValueError("is empty; expected a path") from error
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            why = "is too long" if isinstance(error, OSError) else "contains a character that no path may contain"
            raise ValueError(f"{path[:80]!r} {why}; expected a path") from error
    return path


def home_path(path: str) -> str:
    """Return a path in which ``~`` is replaced by the user's folder, so that whoever reads the file need not do so.

    Raises:
        ValueError: no file can have this name.
    """
    return os.path.expanduser(nameable(path))


def _written(path: Any) -> Any:
    return os.fspath(path) if isinstance(path, os.PathLike) else path


PathName = Annotated[str, BeforeValidator(_written), AfterValidator(nameable)]
HomePathName = Annotated[str, BeforeValidator(_written), AfterValidator(home_path)]
