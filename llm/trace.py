"""The trace: records of all calls and filed events, and how those of parallel branches are merged."""

import contextvars
import gzip
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from cases.strict import Strict
from cases.validation import InputError
from llm.checksums import read_sealed, sealed
from llm.scopes import holding
from llm.specs import WITHOUT_MODEL


class Call(Strict):
    """One question put to one role, with all that is needed to ask it again."""

    id: str = Field(description="Place of the call in the course of the case; unchanged by a resume.")
    role: str
    stage: str
    model: str = Field(description="Spec of the model, or `offline` or `human`.")
    prompt: str
    prompt_hash: str
    started: float = Field(description="Unix time in seconds.")
    seconds: float
    fingerprint: str = Field(
        default="", description="Hash of all that a chat model's answer depends on; otherwise empty."
    )
    attempts: int = Field(
        default=1,
        description="Number of requests, including repairs and failed ones before a resume; 0 if no model was asked.",
    )
    form: str = Field(
        default="",
        description="Form in which the last reply was requested (`llm/forms.py`); empty if no model was asked.",
    )
    repaired: bool = False
    shortened: bool = Field(
        default=False,
        description="The reply repeated itself and was cut off, was too long until the length of texts was limited, or "
        "is plain words that the limit of tokens cut off.",
    )
    left_out: dict[str, int] = Field(
        default_factory=dict,
        description="Number of parts left out of the prompt, by kind: `recalled_cases`, `oldest_turns`, `pictures`.",
    )
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = Field(default=None, description="US dollars; None if the model's price is unknown.")
    cached: bool = Field(
        default=False, description="Answered from the response cache, at no cost; tokens as originally counted."
    )
    messages: list[dict[str, Any]] | None = Field(
        default=None, description="Messages sent; None if kept in a trace file."
    )
    answer: Any = Field(default=None, description="The typed answer as JSON; None if kept in a trace file.")
    error: str | None = None

    @property
    def ended(self) -> float:
        """Unix time in seconds."""
        return self.started + self.seconds

    @property
    def is_asked(self) -> bool:
        """Whether a chat model was asked: not rules or people, nor nobody, as at a limit or with too long a prompt."""
        return self.model not in WITHOUT_MODEL and (self.error is None or self.attempts > 0)

    @property
    def is_uncounted(self) -> bool:
        """Whether a model answered and its server reported no tokens, so that the call seems to have cost nothing."""
        has_answer = self.model not in WITHOUT_MODEL and self.attempts > 0 and self.error is None
        return has_answer and not (self.input_tokens or self.output_tokens)


class Event(Strict):
    """Something that a graph records without asking anyone."""

    id: str = Field(description="Place of the event in the course of the case; unchanged by a resume.")
    event: str = Field(description="What happened, such as `released_memory`.")
    stage: str
    started: float = Field(default_factory=time.time, description="Unix time in seconds.")
    content: Any = Field(default=None, description="Content of the event as JSON; None if kept in a trace file.")


RECALLED = "recalled"  # the event that lists the recalled cases of a stage, and their similarity

Entry = TypeVar("Entry", Call, Event)
_LINE: TypeAdapter[Call | Event] = TypeAdapter(Annotated[Call | Event, Field(union_mode="left_to_right")])


class Trace(Strict):
    """All calls and events of a case in the order in which they happened."""

    calls: tuple[Call, ...] = ()
    events: tuple[Event, ...] = ()

    def __repr_args__(self) -> Iterable[tuple[str, int]]:
        """Show how much it holds: a notebook that shows a graph's result would print every prompt."""
        return [("calls", len(self.calls)), ("events", len(self.events)), ("tokens", self.tokens)]

    @property
    def tokens(self) -> int:
        """Input and output tokens of all calls, as counted by the servers."""
        return sum(call.input_tokens + call.output_tokens for call in self.calls)

    @property
    def cost(self) -> float | None:
        """US dollars; None if the price of any call is unknown."""
        return summed(call.cost for call in self.calls)

    @property
    def asked(self) -> int:
        """The number of questions put to chat models."""
        return sum(call.is_asked for call in self.calls)

    @property
    def seconds(self) -> float:
        """Seconds spent waiting for answers, summed over calls, even concurrent ones."""
        return sum(call.seconds for call in self.calls)

    @property
    def models(self) -> dict[str, list[str]]:
        """The models that answered, by role."""
        return models_by_role((call.role, [call.model]) for call in self.calls)


def summed(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None if one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)


def models_by_role(answered: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Return the different models of each role, of pairs of a role and the models that answered for it."""
    found = defaultdict[str, set[str]](set)
    for role, models in answered:
        found[role].update(models)
    return {role: sorted(models) for role, models in sorted(found.items())}


def merge_traces(left: Trace | None, right: Trace | None) -> Trace:
    """Merge two traces by the ids of their entries; the result does not depend on which branch finishes first."""
    left, right = left or Trace(), right or Trace()
    return Trace(calls=_union(left.calls + right.calls), events=_union(left.events + right.events))


def _union(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Keep the latest entry of each id, in order of time."""
    if len(entries) < 2:
        return entries
    latest: dict[str, Entry] = {}
    for entry in entries:
        if (seen := latest.get(entry.id)) is None or seen.started < entry.started or _when(seen) <= _when(entry):
            latest[entry.id] = entry
    return tuple(sorted(latest.values(), key=lambda entry: (entry.started, entry.id)))


def _when(entry: Call | Event) -> tuple[float, str]:
    return entry.started, entry.model_dump_json()


# A long case offline takes 0.3 MB, and one of 500 calls whose prompts fill a large context 250 MB.
_LARGEST = 2**30  # bytes of an unpacked trace
_MOST_PACKED = 1032  # times that the format can make a file smaller
_LONGEST_LINE = 64 * 2**20  # bytes; a longer one is no record, and a packed file can hold gigabytes in one line
_collected: contextvars.ContextVar[list[Call] | None] = contextvars.ContextVar("collected_calls", default=None)


@contextmanager
def collecting_calls() -> Iterator[list[Call]]:
    """Collect the calls made inside the block and by tasks started in it, also for a block around it."""
    calls: list[Call] = []
    around = _collected.get()
    try:
        with holding(_collected, calls):
            yield calls
    finally:
        if around is not None:
            around.extend(calls)


def record(call: Call, trace_file: str | None) -> None:
    """Add a call to the trace.

    With a trace file, the whole record is written there as one line, and the state keeps only an outline, because the
    state is saved at every checkpoint.

    Raises:
        TraceError: the file cannot be written.
    """
    _append(call, trace_file)
    collect(call, trace_file)


def collect(call: Call, trace_file: str | None) -> None:
    """Add a call that is already in the trace file to the calls of the state."""
    if (calls := _collected.get()) is not None:
        calls.append(call if trace_file is None else call.model_copy(update={"messages": None, "answer": None}))


def entry_id(*parts: str) -> str:
    """Return the id of a call or event within its case, joined from the non-empty parts."""
    return "/".join(filter(None, parts))


def file_event(event: Event, trace_file: str | None) -> Trace:
    """Record an event and return the trace that the node adds to the state, an outline if there is a trace file."""
    _append(event, trace_file)
    return Trace(events=(event if trace_file is None else event.model_copy(update={"content": None}),))


class TraceError(OSError):
    """The trace cannot be written, as on a full disk: what is asked from now on would be paid and lost."""


def _append(entry: Call | Event, trace_file: str | None) -> None:
    if trace_file is None:
        return
    try:
        with open(trace_file, "ab+") as out:
            out.seek(max(0, out.seek(0, os.SEEK_END) - 1))
            is_cut = out.read(1) not in (b"", b"\n")  # a kill may have cut off the last line
            out.write(b"\n" * is_cut + sealed(entry).encode() + b"\n")
    except OSError as error:
        raise TraceError(error.errno, error.strerror, trace_file) from error


def kept_at(file: str | Path) -> Path:
    """Return the path of a trace: as written, or, once its case has ended, the compressed file beside it."""
    plain, packed = Path(file), Path(f"{file}.gz")
    return packed if packed.is_file() and not plain.is_file() else plain


def trace_lines(file: str | Path) -> Iterator[str]:
    """Return the lines of a trace; bytes that are not UTF-8 are replaced."""
    return (line.decode("utf-8", "replace") for line in raw_lines(file))


def raw_lines(file: str | Path) -> Iterator[bytes]:
    """Yield the lines of a trace; none if the file is missing, and only those before any damage if compressed.

    Raises:
        InputError: it unpacks to more than any trace.
    """
    where = kept_at(file)
    if not where.is_file():
        return
    if where.suffix == ".gz" and (fault := too_large(where)):
        raise InputError(f"{fault}; if no run of yours wrote it, delete it")
    with (
        gzip.open(where) if where.suffix == ".gz" else where.open("rb") as raw,
        suppress(EOFError, zlib.error, gzip.BadGzipFile),
    ):
        while line := raw.readline(_LONGEST_LINE):
            yield line


def too_large(packed: Path) -> str:
    """Say that a packed trace unpacks to more than any trace; empty if it does not."""
    if packed.stat().st_size * _MOST_PACKED > _LARGEST:
        with gzip.open(packed) as content, suppress(EOFError, zlib.error, gzip.BadGzipFile):
            while content.read(2**20):
                if content.tell() > _LARGEST:
                    return f"{packed}: unpacks to more than {_LARGEST // 2**20} MB, which no trace does"
    return ""


def read_calls(lines: Iterable[str]) -> Trace:
    """Read a trace from its lines; see ``each_entry``."""
    entries = list(each_entry(lines))
    calls = tuple(entry for entry in entries if isinstance(entry, Call))
    return merge_traces(Trace(calls=calls, events=tuple(entry for entry in entries if isinstance(entry, Event))), None)


def each_entry(lines: Iterable[str]) -> Iterator[Call | Event]:
    """Yield every record of a trace file in the order of writing, including several of one call.

    An unreadable line, cut off by a kill or damaged later, is skipped: its question is asked again.
    """
    for line in lines:
        with suppress(ValueError):
            yield read_entry(line)


def read_entry(line: str) -> Call | Event:
    """Read the record of a line; ValueError if it cannot be read."""
    return read_sealed(line, _LINE)
