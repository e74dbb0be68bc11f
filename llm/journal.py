"""No finished call is paid twice: what a case's trace file holds is not asked again when the case is resumed."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llm.trace import Call, each_entry, trace_lines


@dataclass
class _Journal:
    """The calls of a case so far."""

    answered: dict[str, Call] = field(default_factory=dict)  # by the fingerprint of their question
    last: dict[str, Call] = field(default_factory=dict)  # the last record of each call, by its id


_journal: contextvars.ContextVar[_Journal | None] = contextvars.ContextVar("journal", default=None)


@contextmanager
def journal(trace_file: str | Path | None) -> Iterator[None]:
    """Answer from the trace file what it already answers, and remember what is asked inside the block.

    Only answers are replayed. A call that failed is asked again; as the trace keeps one record of each call, the new
    record carries over the requests, tokens and cost of the failed tries: they were paid. Offline rules are computed
    again, people are asked through the graph's own interrupts.

    Args:
        trace_file: of the case, `ModelSettings.trace_file`; one that is not there yet is empty.
    """
    token = _journal.set(_Journal())
    try:
        for entry in each_entry(trace_lines(trace_file) if trace_file else ()):
            if isinstance(entry, Call):
                note(entry)
        yield
    finally:
        _journal.reset(token)


def is_kept() -> bool:
    """Whether this is a case of a run, which keeps a journal."""
    return _journal.get() is not None


def replayed(call: Call) -> Call | None:
    """The recorded call that answers this question; None if there is none, or no journal is kept."""
    found = kept.answered.get(call.fingerprint) if (kept := _journal.get()) else None
    return found if found and found.prompt_hash == call.prompt_hash else None


def failed_before(call_id: str) -> Call | None:
    """The last record of a call that is asked again, with what its tries have taken in all."""
    return kept.last.get(call_id) if (kept := _journal.get()) else None


def note(call: Call) -> None:
    """Remember a call that was just recorded, if a journal is kept."""
    if (kept := _journal.get()) is not None:
        kept.last[call.id] = call
        if call.fingerprint and call.answer is not None and call.error is None:
            kept.answered[call.fingerprint] = call


def with_earlier_tries(call: Call) -> Call:
    """The call, with what earlier tries of it took added."""
    before = failed_before(call.id)
    if before is None:
        return call
    cost = None if call.cost is None or before.cost is None else call.cost + before.cost
    return call.model_copy(
        update={
            "attempts": call.attempts + before.attempts,
            "input_tokens": call.input_tokens + before.input_tokens,
            "output_tokens": call.output_tokens + before.output_tokens,
            "cost": cost,
        }
    )
