"""Write a file whole or not at all, and never through a link or in the place of a device."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def unless_linked(path: str, flags: int) -> int:
    """Open a file (an opener for ``open``), but no link: a directory received from others may link to any file."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def is_device(path: Path) -> bool:
    """Whether a path is a device or a pipe, in whose place no file is written."""
    return path.exists() and not (path.is_file() or path.is_dir())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file that replaces ``path`` at the end of the block; the file is whole or unchanged.

    Raises:
        OSError: it cannot be written; the path is named, and not the temporary file, which is removed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if is_device(path):  # who may write anywhere would leave a file where /dev/null was
        raise OSError(errno.EINVAL, "is a device or a pipe; name a file", str(path))
    draft = path.with_name(f".{path.name}.part")
    try:
        out = open(draft, "wb", opener=unless_linked)  # noqa: SIM115 - closing it may fail too, on a full disk
    except OSError as error:  # a draft that is a link is named: it is to be deleted
        if error.filename == str(draft) and error.errno != errno.ELOOP:
            error.filename = str(path)
        raise
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # the system names no file on a full disk
            error.filename = str(path)
        raise
