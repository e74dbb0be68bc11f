"""Files of JSON lines that survive a kill and a power cut: one whole line a record, each there once it is written."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel


class RunStoppedError(RuntimeError):
    """What is being run can no longer be written; what was finished before is kept."""


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Name the place where something could not be written, and what to do.

    Raises:
        RunStoppedError: on every error of the file system inside the block.
    """
    try:
        yield
    except OSError as error:
        raise RunStoppedError(
            f"{place}: cannot be written: {error}; mend that and run the same command again to go on"
        ) from error


@contextlib.contextmanager
def only_writer(root: Path, folder: str, refusal: type[Exception], taken: str) -> Iterator[None]:
    """Hold a directory, and wait for nobody.

    Args:
        root: made if new, and locked.
        folder: in it, made too.
        refusal: what is raised if another process holds the directory, or it cannot be written.
        taken: the error's words if another process holds it.
    """
    lock = FileLock(str(root / ".lock"))
    try:
        (root / folder).mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise refusal(taken) from None
    except OSError as error:
        raise refusal(f"--out {root}: cannot be written: {error}") from error
    try:
        yield
    finally:
        lock.release()


def whole_lines(path: Path) -> Iterator[str]:
    """The lines of a file, none if there is no file; a last one that a kill has cut off is left out.

    Only a line feed ends a line: the text in it may hold the other separators that ``splitlines`` knows.
    """
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield line[:-1].decode("utf-8")


def drop_cut_line(path: Path) -> None:
    """Take a cut last line away, so that the next one does not stick to it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        if not file.seek(0, os.SEEK_END):
            return
        file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def append_line(path: Path, record: BaseModel) -> None:
    """Append a record; when this returns, it is on the disk."""
    with path.open("a", encoding="utf-8") as out:
        out.write(record.model_dump_json() + "\n")
        out.flush()
        os.fsync(out.fileno())
