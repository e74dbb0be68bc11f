"""JSON Lines files that survive a kill and a power cut: one line per record, on the disk once it is written.

Later damage is detected by the lines' checksums (``llm/checksums.py``), and damaged lines are moved aside.
"""

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel

from cases.grouping import grouped
from cases.readable import unpiped
from cases.whole_files import replacing, unless_linked
from llm.checksums import sealed
from wardround.printing import reason

TO_RESUME = "fix this, then run the same command again to resume"
DAMAGED = "damaged"  # the folder in a run directory for what could not be read

Reader = Callable[[str], Hashable]  # returns a line's key; raises a ValueError for a line that it cannot read


class RunStoppedError(RuntimeError):
    """The run directory can no longer be written; finished cases are kept."""


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn file system errors into an error that names the place and the remedy.

    Raises:
        RunStoppedError: on every OSError inside the block.
    """
    try:
        yield
    except OSError as error:
        raise RunStoppedError(f"{place}: cannot be written: {error.strerror or error}; {TO_RESUME}") from error


@contextlib.contextmanager
def only_writer(
    root: Path, folder: str, written: Sequence[str], refusal: type[Exception], taken: str
) -> Iterator[None]:
    """Lock a directory for writing, without waiting.

    The root and the folder in it are created if missing. If another process holds the lock, ``refusal(taken)`` is
    raised; so is a refusal if a file of ours is a link to elsewhere. ``written`` has the names of our files, as
    patterns below the root. A folder that is not named there may be a link of the owner's, to another disk.
    """
    lock = FileLock(str(root / ".lock"))
    try:
        (root / folder).mkdir(parents=True, exist_ok=True)
        if link := _link_out(root, (".lock", *written)):
            raise refusal(f"{link}: is a link out of {root}, where nothing is written; replace it by what it links to")
        lock.acquire(timeout=0)
    except Timeout:
        raise refusal(taken) from None
    except OSError as error:
        raise refusal(f"{error.filename or root}: cannot be written: {reason(error)}") from error
    try:
        yield
    finally:
        lock.release()


def _link_out(root: Path, written: Sequence[str]) -> str | None:
    """Return a link in place of a file of ours that leads to elsewhere, as in a directory received from others."""
    names = grouped(os.path.split(root / pattern) for pattern in written)
    for folder in filter(os.path.isdir, names):
        with os.scandir(folder) as entries:
            linked = [entry for entry in entries if entry.is_symlink()]
        links = [one.path for one in linked if any(fnmatch(one.name, name) for name in names[folder])]
        inside = [os.path.realpath(root), os.path.realpath(folder)]
        for link in links:
            if not any(Path(os.path.realpath(link)).is_relative_to(place) for place in inside):
                return link
    return None


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file (none if there is no file), without a last line that was cut off by a kill.

    Only a line feed ends a line: the text may contain the other separators that ``splitlines`` knows.
    """
    return (line.removesuffix(b"\n") for line in raw_lines(path) if line.endswith(b"\n") or _is_record(line))


def is_cut_off(line: bytes) -> bool:
    """Whether a line, with its end, was cut off by a kill; one that does not start like ours is damaged."""
    return not line.endswith(b"\n") and line.startswith(b"{") and not _is_record(line)


def drop_cut_line(path: Path) -> None:
    """Remove a last line that was cut off, and end one that only lacks its line feed, so that the next does not join.

    An editor may have dropped the line feed; of a record that was cut off, more is missing.
    """
    for last in deque(raw_lines(path), maxlen=1):
        if not last.endswith(b"\n"):
            with path.open("rb+") as file:
                end = file.seek(0, os.SEEK_END)
                if _is_record(last):
                    file.write(b"\n")
                else:
                    file.truncate(end - len(last))


def _is_record(line: bytes) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(line)
        return True
    return False


def append_sealed(path: Path, record: BaseModel) -> None:
    """Append a record with its checksum; it is on the disk when this returns."""
    append_line(path, sealed(record))


def append_line(path: Path, line: str) -> None:
    """Append a line; it is on the disk when this returns."""
    with path.open("a", encoding="utf-8", newline="\n") as out:
        out.write(line + "\n")
        out.flush()
        os.fsync(out.fileno())


def damaged_lines(path: Path, read: Reader) -> dict[int, str]:
    """Return the damaged lines of a file, by number from 1, with the reason.

    A last line that was cut off is not damaged: that is what a kill leaves. If ``read`` gives several lines the same
    key, only the first is good; a key of None is never a duplicate.
    """
    found: dict[int, str] = {}
    seen: dict[Hashable, int] = {}
    for number, line in enumerate(raw_lines(path), start=1):
        if is_cut_off(line):
            continue
        try:
            key = read(line.removesuffix(b"\n").decode("utf-8"))
        except UnicodeDecodeError:
            found[number] = "is not UTF-8"
        except ValueError as error:
            found[number] = str(error)
        else:
            if key is not None and (first := seen.setdefault(key, number)) != number:
                found[number] = f"repeats line {first}"
    return found


def mend_lines(path: Path, read: Reader, aside: Path | None) -> list[str]:
    """Move the damaged lines of a file, unchanged, into one of the folder ``aside``; return a description of each.

    A last line without its end stays if it is complete. Without a folder, nothing is written.
    """
    found = damaged_lines(path, read)
    if found and aside:
        aside.mkdir(parents=True, exist_ok=True)
        with open(aside / path.name, "ab", opener=unless_linked) as out:
            out.writelines(line for number, line in enumerate(raw_lines(path), start=1) if number in found)
        keep_lines(path, lambda number, _: number not in found)
    if aside:
        drop_cut_line(path)
    return [f"{path}: line {number} {why}" for number, why in found.items()]


def keep_lines(path: Path, wanted: Callable[[int, bytes], bool]) -> None:
    """Rewrite a file with only some of its lines, whole or not at all.

    ``wanted`` gets a line's number, from 1, and the line.
    """
    with replacing(path) as out:
        out.writelines(line for number, line in enumerate(raw_lines(path), start=1) if wanted(number, line))


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; none if there is no file."""
    if path.exists():
        with unpiped(path).open("rb") as lines:
            yield from lines
