"""The journal of a case: calls already answered in its trace file are not repeated on resume."""

import asyncio
import contextvars
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llm.scopes import holding
from llm.trace import Call, each_entry, record, summed, trace_lines


@dataclass
class _Journal:
    """The calls of a case so far."""

    answered: dict[str, Call] = field(default_factory=dict)  # by fingerprint
    last: dict[str, Call] = field(default_factory=dict)  # last record of each call, by call id
    cancelled: dict[str, Call] = field(default_factory=dict)  # calls that were cut off and not asked again, by call id
    under_way: set[asyncio.Future[None]] = field(default_factory=set)  # calls whose answer is awaited


_journal: contextvars.ContextVar[_Journal | None] = contextvars.ContextVar("journal", default=None)
_kept: set[str] = set()  # the trace files that journals are kept for


@contextmanager
def journal(trace_file: str | Path | None) -> Iterator[None]:
    """Answer from the trace file what it already answers, and remember the calls made inside the block.

    Only answers are replayed. A failed call is asked again; the trace keeps one record per call, so the new record
    includes the requests, tokens and cost of the failed tries, which were paid. Offline rules are computed again;
    people are asked through LangGraph's interrupts.

    A call that was cancelled, as when another seat failed or a limit was reached, is recorded when the case ends. If
    the case itself is stopped, it is not: a stopped case goes on to the trace of one that was never stopped.

    Args:
        trace_file: of the case (`ModelSettings.trace_file`); a missing file counts as empty.
    """
    current = _Journal()
    with holding(_journal, current), ExitStack() as stack:
        _kept.add(str(trace_file))
        stack.callback(_kept.discard, str(trace_file))
        for entry in each_entry(trace_lines(trace_file) if trace_file else ()):
            if isinstance(entry, Call):
                note(entry)
        try:
            yield
        except Exception:
            _record_cancelled(current, trace_file)
            raise
        _record_cancelled(current, trace_file)


def _record_cancelled(current: _Journal, trace_file: str | Path | None) -> None:
    for call in current.cancelled.values():
        record(call, str(trace_file) if trace_file else None)


def is_kept() -> bool:
    """Whether a journal is kept, as for every case of a run."""
    return _journal.get() is not None


def is_lost(trace_file: str | None) -> bool:
    """Whether code of a case does not see its journal, as in a thread that was not given the context of its node."""
    return trace_file in _kept and not is_kept()


def replayed(call: Call) -> Call | None:
    """Return the recorded call that answers this question; None if there is none, or no journal is kept."""
    found = current.answered.get(call.fingerprint) if (current := _journal.get()) else None
    return found if found and found.prompt_hash == call.prompt_hash else None


def failed_before(call_id: str) -> Call | None:
    """Return the last record of a call that is asked again; it includes the usage of all earlier tries."""
    return current.last.get(call_id) if (current := _journal.get()) else None


@contextmanager
def under_way() -> Iterator[None]:
    """Let calls of the case that reach a limit wait for the answer that is awaited inside the block."""
    if (current := _journal.get()) is None:
        yield
        return
    over = asyncio.get_running_loop().create_future()
    current.under_way.add(over)
    try:
        yield
    finally:
        current.under_way.discard(over)
        over.set_result(None)


async def others_answered() -> None:
    """Wait for the calls of the case that are under way: they are paid, and would be cut off with the case."""
    current, loop = _journal.get(), asyncio.get_running_loop()
    if current and (others := [over for over in current.under_way if over.get_loop() is loop]):
        await asyncio.wait(others)


def note(call: Call) -> None:
    """Remember a recorded call, if a journal is kept."""
    if (current := _journal.get()) is not None:
        current.last[call.id] = call
        current.cancelled.pop(call.id, None)
        if call.fingerprint and call.answer is not None and call.error is None:
            current.answered[call.fingerprint] = call


def note_cancelled(call: Call) -> None:
    """Remember a call that was cut off, if a journal is kept: it is recorded unless it is asked again."""
    if (current := _journal.get()) is not None:
        current.last[call.id] = current.cancelled[call.id] = call


def with_earlier_tries(call: Call) -> Call:
    """Return the call with the usage of its earlier tries added, and later than these, so that it counts."""
    before = failed_before(call.id)
    if before is None:
        return call
    counted = ("attempts", "input_tokens", "output_tokens")
    sums = {name: getattr(call, name) + getattr(before, name) for name in counted}
    started = max(call.started, math.nextafter(before.started, math.inf))  # also by a clock that was put back
    return call.model_copy(update={**sums, "started": started, "cost": summed((call.cost, before.cost))})
