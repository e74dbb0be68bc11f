"""A single writer for a persistent memory: Chroma silently corrupts a directory that two processes write."""

import uuid
from pathlib import Path

from filelock import FileLock, Timeout


class SingleWriter:
    """The right of one process to write a directory, with detection of writes by other processes.

    The lock is taken at the first write and held until it is released or the process ends. Every write leaves a new
    revision mark, because an index loaded before another process wrote is stale and must not be written.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "writer.lock", thread_local=False)
        self._mark = folder / "revision"
        self._seen = self._revision()  # read before the index is loaded, so that later changes are noticed

    def acquire(self) -> None:
        """Become the writer, unless this process already is.

        Raises:
            BlockingIOError: another process is the writer, or has written since this one opened the directory.
        """
        if self._lock.is_locked:
            return
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise BlockingIOError(
                "another process is writing to it; wait until it ends, or share the memory through a server "
                "(`chroma run --path DIRECTORY`, with its http:// address as location)"
            ) from None
        if self._revision() != self._seen:
            self._lock.release()
            raise BlockingIOError("another process has written to it since it was opened; close and open it again")

    def written(self) -> None:
        """Leave a new revision mark."""
        self._seen = uuid.uuid4().hex
        self._mark.write_text(self._seen, "ascii")

    def release(self) -> None:
        """Let others write."""
        self._lock.release()

    def _revision(self) -> str:
        return self._mark.read_text("ascii") if self._mark.exists() else ""
