"""The trace file of a case: every call that was made for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llm.trace import Call, Trace, each_call, read_calls


def read_trace(file: Path) -> Trace:
    """The calls of a case so far; none if it was not begun."""
    with _lines(file) as lines:
        return read_calls(lines)


def read_trace_file(file: Path) -> list[Call]:
    """The calls of a case in the order they were made; of a call asked again, its last record."""
    with _lines(file) as lines:
        return list({call.id: call for call in each_call(lines)}.values())


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[str]]:
    """The lines of a file, none if there is none; newlines as written, also of a line cut off inside a letter."""
    if not file.is_file():
        yield iter(())
        return
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        yield lines
