"""The shared writer of a run on Ray: one process beside the driver owns the trace files and the meter."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from llm.limits import Limits, Meter, Spent
from wardround.store.traces import run_meter

_SECONDS = 60  # to wait for the writer of a killed driver to end


class Writer:
    """A Ray actor beside the driver. Workers write nothing into the run directory; they send it here.

    It locks the trace files, so that no two processes write them, not even while the workers of a killed driver are
    still being stopped.
    """

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}

    def open(self, traces: Path, limits: Limits) -> None:
        """Lock the trace files, and start the run's meter from what the traces show."""
        self._traces = traces
        self._lock = FileLock(str(traces / ".lock"))
        self._lock.acquire(timeout=_SECONDS)
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

    def spent(self) -> Spent:
        """Return what the run has used."""
        return self._meter.spent

    def count_call(self, role: str) -> None:
        """Count a question that a worker is about to ask."""
        self._meter.count_call(role)

    def add(self, role: str, tokens: int, cost: float, seconds: float) -> None:
        """Add what an answer used."""
        self._meter.add(role, tokens, cost, seconds)


class SharedMeter(Meter):
    """A worker's view of the run's meter, which the writer owns.

    In a run with limits, the writer is asked before each question (blocking the worker for a millisecond or two), so
    the limit holds over all workers, except for questions that two of them ask at the same instant.
    """

    def __init__(self, writer: Any, limits: Limits) -> None:
        super().__init__("run", limits)
        self._writer = writer

    def without_limits(self) -> Self:
        """Return the same meter without limits."""
        return type(self)(self._writer, Limits())

    def check(self, role: str, *, new_call: bool, priced: Callable[[], bool]) -> None:
        """Refuse a call that would exceed a limit of the run."""
        if self.limits != Limits():
            self._total, self._started = self._writer.spent.remote().future().result(), time.monotonic()
            super().check(role, new_call=new_call, priced=priced)

    def count_call(self, role: str) -> None:
        """Count a question that is about to be asked."""
        self._writer.count_call.remote(role)

    def add(self, role: str, tokens: int = 0, cost: float = 0.0, seconds: float = 0.0) -> None:
        """Add what an answer used."""
        self._writer.add.remote(role, tokens, cost, seconds)
