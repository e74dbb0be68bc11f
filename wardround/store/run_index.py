"""An index of a run's results as they are written; it is extended on request, and reads answers only when needed."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from cases.readable import unpiped
from llm.replies import texts_in
from wardround.store.result import Result, read_result
from wardround.store.run_directory import RunDirectory

Key = tuple[str, int]


@dataclass
class RunIndex:
    """Where each result of a run is in its file; the run may still be under way."""

    directory: RunDirectory  # of the run
    results: dict[Key, Result] = field(default_factory=dict)  # by case and epoch, without their answers
    faults: list[str] = field(default_factory=list)  # the lines that cannot be read, and why
    _offsets: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _file: tuple[int, int] = (0, 0)  # inode, and offset read so far
    _lines: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read_on(self) -> bool:
        """Read the lines written since the last call; return whether anything changed.

        Raises:
            OSError: the file cannot be read.
        """
        with self._lock:
            file = self.directory.results_file
            if not file.is_file():
                return False
            now = file.stat()
            inode, end = self._file
            restart = now.st_ino != inode or now.st_size < end  # repaired, or results were removed to be tried again
            if restart:
                for collected in (self.results, self.faults, self._offsets):
                    collected.clear()
                end = self._lines = 0
            changed = restart
            with unpiped(file).open("rb") as lines:
                lines.seek(end)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # still being written, or cut off by a kill
                    self._add_line(line, end)
                    end += len(line)
                    changed = True
            self._file = (now.st_ino, end)
            return changed

    def answered(self, key: Key) -> Result:
        """Read a result with its answers.

        Raises:
            KeyError: there is none.
            OSError: the file cannot be read.
            ValueError: the line is no longer there.
        """
        offset, length = self._offsets[key]
        with self.directory.results_file.open("rb") as file:
            file.seek(offset)
            return read_result(file.read(length).decode())

    def each_text(self) -> Iterator[tuple[Key, str]]:
        """Yield all text of each result: answers, dialogues, errors, ids."""
        if not self._offsets:  # a run that has just begun has no file yet
            return
        with self.directory.results_file.open("rb") as file:
            for key, (offset, length) in list(self._offsets.items()):
                file.seek(offset)
                yield key, "\n".join(texts_in(json.loads(file.read(length))))

    def _add_line(self, line: bytes, offset: int) -> None:
        self._lines += 1
        try:
            result = self.directory.read_line(line, self.results)
        except ValueError as error:
            self.faults.append(f"line {self._lines} {error}")
            return
        self.results[result.key] = result.without_answers()
        self._offsets[result.key] = offset, len(line)
