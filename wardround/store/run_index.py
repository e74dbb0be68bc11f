"""The results of a run as far as they are on the disk: read on from where they were, answers only when asked for."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from wardround.store.run_directory import Result, RunDirectory, read_result

Key = tuple[str, int]


@dataclass
class RunIndex:
    """Where each result of a run stands; a run may go on while it is read."""

    directory: RunDirectory  # of the run
    results: dict[Key, Result] = field(default_factory=dict)  # by case and epoch, without their answers
    faults: list[str] = field(default_factory=list)  # the lines that cannot be read, and why
    _places: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _file: tuple[int, int] = (0, 0)  # its inode, and how far it was read
    _lines: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read_on(self) -> bool:
        """Read what was written since; whether there was anything.

        Raises:
            OSError: the file cannot be read.
        """
        with self._lock:
            file = self.directory.results_file
            if not file.is_file():
                return False
            now = file.stat()
            inode, end = self._file
            anew = now.st_ino != inode or now.st_size < end  # mended, or results were taken out to be tried again
            if anew:
                for kept in (self.results, self.faults, self._places):
                    kept.clear()
                end = self._lines = 0
            changed = anew
            with file.open("rb") as lines:
                lines.seek(end)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # still being written, or cut off by a kill
                    self._take(line, end)
                    end += len(line)
                    changed = True
            self._file = (now.st_ino, end)
            return changed

    def answered(self, key: Key) -> Result:
        """A result with its answers.

        Raises:
            KeyError: there is none.
            OSError: the file cannot be read.
            ValueError: the line is not there any more.
        """
        place, length = self._places[key]
        with self.directory.results_file.open("rb") as file:
            file.seek(place)
            return read_result(file.read(length).decode())

    def each_text(self) -> Iterator[tuple[Key, str]]:
        """All that each result says, in words: what was answered and said, errors, ids."""
        with self.directory.results_file.open("rb") as file:
            for key, (place, length) in list(self._places.items()):
                file.seek(place)
                yield key, "\n".join(words_in(json.loads(file.read(length))))

    def _take(self, line: bytes, place: int) -> None:
        self._lines += 1
        try:
            result = self.directory.read_line(line, self.results)
        except ValueError as error:
            self.faults.append(f"line {self._lines} {error}")
            return
        self.results[result.key] = result.model_copy(update={"answers": None})
        self._places[result.key] = place, len(line)


def words_in(content: object) -> Iterator[str]:
    """Every text within JSON, names of fields apart."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from words_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from words_in(value)
