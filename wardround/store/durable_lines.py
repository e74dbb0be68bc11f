"""Files of JSON lines that survive a kill and a power cut: one whole line a record, each there once it is written.

What was damaged since is told by the lines' checksums (``llm/checksums.py``), and set aside.
"""

import contextlib
import os
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel

from llm.checksums import sealed
from wardround.store.provenance import replacing

DAMAGED = "damaged"  # the folder of a run directory for what could not be read in it

Reader = Callable[[str], Hashable]  # raises a ValueError for a line that it cannot read


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

    The root, and the folder in it, are made if new. If another process holds it, the ``refusal`` is raised in the words
    of ``taken``.
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


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, none if there is no file; a last one that a kill has cut off is left out.

    Only a line feed ends a line: the text in it may hold the other separators that ``splitlines`` knows.
    """
    return (line[:-1] for line in raw_lines(path) if line.endswith(b"\n"))


def drop_cut_line(path: Path) -> None:
    """Take a cut last line away, so that the next one does not stick to it."""
    if not _ends_whole(path):
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def _ends_whole(path: Path) -> bool:
    """Whether the file, if there is one, ends with a line feed or is empty."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def append_sealed(path: Path, record: BaseModel) -> None:
    """Append a record with its checksum; when this returns, it is on the disk."""
    append_line(path, sealed(record))


def append_line(path: Path, line: str) -> None:
    """Append a line; when this returns, it is on the disk."""
    with path.open("a", encoding="utf-8") as out:
        out.write(line + "\n")
        out.flush()
        os.fsync(out.fileno())


def damaged_lines(path: Path, read: Reader) -> dict[int, str]:
    """The lines of a file that cannot stay in it, by number from 1, and why.

    A last line without its end is none of them: that is what a kill leaves. Of lines for which ``read`` gives the same,
    the first stays; None is no such thing.
    """
    found: dict[int, str] = {}
    seen: dict[Hashable, int] = {}
    for number, line in enumerate(raw_lines(path), start=1):
        if not line.endswith(b"\n") and line.startswith(b"{"):
            continue  # cut off by a kill; what begins otherwise is no line of ours
        try:
            key = read(line.removesuffix(b"\n").decode("utf-8"))
        except UnicodeDecodeError:
            found[number] = "is not UTF-8"
        except ValueError as error:
            found[number] = str(error)
        else:
            if key is not None and (first := seen.setdefault(key, number)) != number:
                found[number] = f"tells again what line {first} tells"
    return found


def mend_lines(path: Path, read: Reader, aside: Path) -> list[str]:
    """Move the damaged lines of a file into another one, as they are; names each.

    A last line without its end stays if it is whole (an editor has saved the file).
    """
    found = damaged_lines(path, read)
    if found:
        aside.mkdir(parents=True, exist_ok=True)
        with (aside / path.name).open("ab") as out:
            out.writelines(line for number, line in enumerate(raw_lines(path), start=1) if number in found)
        keep_lines(path, lambda number, _: number not in found)
    if not _ends_whole(path):
        *_, last = raw_lines(path)
        try:
            read(last.decode("utf-8"))
        except ValueError:
            drop_cut_line(path)
        else:
            with path.open("ab") as out:
                out.write(b"\n")
    return [f"{path}: line {number} {why}" for number, why in found.items()]


def keep_lines(path: Path, wanted: Callable[[int, bytes], bool]) -> None:
    """Leave only some lines in a file, as they are, whole or not at all.

    ``wanted`` is given a line's number, from 1, and the line.
    """
    with replacing(path) as out:
        out.writelines(line for number, line in enumerate(raw_lines(path), start=1) if wanted(number, line))


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file as they are, with their ends; none if there is no file."""
    if path.exists():
        with path.open("rb") as lines:
            yield from lines
