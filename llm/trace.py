"""The record of every call, and how records of parallel branches are merged."""

import contextvars
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Call(BaseModel):
    """One question put to one role, with all that is needed to ask it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Place of the call in the course of the case; the same after a resume.")
    role: str
    stage: str
    model: str = Field(description="The model's spec; `offline` and `human` are named like any other.")
    prompt: str
    prompt_hash: str
    started: float = Field(description="Seconds since the epoch.")
    seconds: float
    fingerprint: str = Field("", description="Hash of all that a chat model's answer depends on; empty for others.")
    attempts: int = Field(
        1, description="Requests sent, repairs and failed tries before a resume included; 0 if no model was asked."
    )
    repaired: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = Field(None, description="US dollars; None if the model's price is unknown.")
    cached: bool = Field(False, description="Answered from the response cache: tokens as counted then, at no cost.")
    messages: list[dict[str, Any]] | None = Field(None, description="What was sent; None when kept in a trace file.")
    answer: Any = Field(None, description="The typed answer as JSON; None when kept in a trace file.")
    error: str | None = None


class Trace(BaseModel):
    """All calls of a case in the order they were made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: tuple[Call, ...] = ()

    @property
    def tokens(self) -> int:
        """Input and output tokens of all calls, as the servers counted them."""
        return sum(call.input_tokens + call.output_tokens for call in self.calls)

    @property
    def cost(self) -> float | None:
        """US dollars; None as soon as one call has no known price."""
        costs = [call.cost for call in self.calls]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def seconds(self) -> float:
        """Time spent waiting for answers, summed over calls (parallel calls count each)."""
        return sum(call.seconds for call in self.calls)

    @property
    def models(self) -> dict[str, list[str]]:
        """The models that really answered, by role."""
        found: dict[str, set[str]] = {}
        for call in self.calls:
            found.setdefault(call.role, set()).add(call.model)
        return {role: sorted(models) for role, models in sorted(found.items())}


def merge_traces(left: Trace | None, right: Trace | None) -> Trace:
    """Union of two traces by call id: the same whatever the order in which branches finish."""
    calls: dict[str, Call] = {}
    for call in sorted([*(left or Trace()).calls, *(right or Trace()).calls], key=_when):
        calls[call.id] = call
    return Trace(calls=tuple(sorted(calls.values(), key=_when)))


def _when(call: Call) -> tuple[float, str, str]:
    return call.started, call.id, call.model_dump_json()


_collected: contextvars.ContextVar[list[Call] | None] = contextvars.ContextVar("collected_calls", default=None)


@contextmanager
def collecting_calls() -> Iterator[list[Call]]:
    """Gather the calls made inside the block (also by the tasks it starts)."""
    calls: list[Call] = []
    token = _collected.set(calls)
    try:
        yield calls
    finally:
        _collected.reset(token)


def record(call: Call, trace_file: str | None) -> None:
    """Add a call to the trace.

    With a trace file the whole record goes there, as one line, and the state keeps only its outline, because
    the state is written at every checkpoint.
    """
    if trace_file is not None:
        with Path(trace_file).open("ab+") as out:
            line = call.model_dump_json().encode() + b"\n"
            out.write(line if _at_line_start(out) else b"\n" + line)
    collect(call, trace_file)


def collect(call: Call, trace_file: str | None) -> None:
    """Add a call that already stands in the trace file to those of the state."""
    if (calls := _collected.get()) is not None:
        calls.append(call if trace_file is None else call.model_copy(update={"messages": None, "answer": None}))


def _at_line_start(file: BinaryIO) -> bool:
    """Whether the file ends with a whole line: a kill may have cut the last one off."""
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def read_calls(lines: Iterable[str]) -> Trace:
    """The calls of a trace file; a line cut off by a kill is left out."""
    return merge_traces(Trace(calls=tuple(each_call(lines))), None)


def each_call(lines: Iterable[str]) -> Iterator[Call]:
    """Every record of a trace file in the order of writing, also several of one call."""
    for line in lines:
        try:
            yield Call.model_validate_json(line)
        except ValidationError as error:
            if error.errors()[0]["type"] != "json_invalid":
                raise
