"""The trace file of a case: every call that was made for it, and what was filed."""

from pathlib import Path

from llm.trace import Trace, read_calls


def read_trace(file: Path) -> Trace:
    """What is on record of a case so far, of a call asked again its last record; nothing if it was not begun."""
    if not file.is_file():
        return Trace()
    # Newlines as written; a line cut off inside a letter is left out like any other.
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return read_calls(lines)
