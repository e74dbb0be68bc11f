"""The writer of a run on Ray: an actor beside the driver, to which its workers send what they record.

Each run starts one in a process of its own, so that this module imports next to nothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from llm.limits import Limits, Spent

_SECONDS = 60  # to wait for the writer of a killed driver to end


class Writer:
    """A Ray actor. Workers write nothing into the run directory; they send it here.

    It locks the trace files, so that no two processes write them, not even while the workers of a killed driver are
    still being stopped.
    """

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}

    def open(self, traces: Path, limits: "Limits | None") -> None:
        """Lock the trace files and, if the run is limited, start its meter from what the traces show."""
        self._traces = traces
        self._lock = FileLock(str(traces / ".lock"))
        self._lock.acquire(timeout=_SECONDS)
        if limits is not None:
            from wardround.store.traces import run_meter  # the whole of llm/: two thirds of the time to start

            self._meter = run_meter(limits, traces)

    def begin(self, name: str, ticket: str) -> bytes:
        """Assign a case to a worker and return its trace so far; earlier tickets for the case become invalid."""
        self._holders[name] = ticket
        file = self._traces / name
        text = file.read_bytes() if file.exists() else b""
        return text[: text.rfind(b"\n") + 1]

    def append(self, name: str, ticket: str, lines: bytes) -> None:
        """Append whole lines to the trace of a case."""
        if self._holders.get(name) != ticket:
            raise PermissionError(f"{name}: another worker has taken over this case")
        with (self._traces / name).open("ab") as out:
            out.write(lines)

    def spent(self) -> "Spent":
        """Return what the run has used."""
        return self._meter.spent

    def count_call(self, role: str) -> None:
        """Count a question that a worker is about to ask."""
        self._meter.count_call(role)

    def add(self, role: str, tokens: int, cost: float | None, seconds: float) -> None:
        """Add what an answer used."""
        self._meter.add(role, tokens, cost, seconds)
