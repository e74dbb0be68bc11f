"""Limits on usage: of a case, of each role in it, of a whole run.

Only chat models count: offline rules, people, cached answers and replayed calls use nothing.
"""

import contextvars
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from llm.errors import LimitError, ModelSpecError
from llm.scopes import holding
from llm.trace import Call, Trace


class Limits(BaseModel):
    """Limits on usage; a limit that is not set is off."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    calls: int | None = Field(
        default=None,
        ge=0,
        description="Maximum number of questions to models; retries and repairs count as part of a question.",
    )
    tokens: int | None = Field(
        default=None, ge=0, description="Maximum number of input and output tokens, as counted by the servers."
    )
    cost: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="Maximum cost in US dollars; needs known prices."
    )
    seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Maximum time in seconds: of the case or run without interruptions; for a role, of its calls.",
    )


class Spent(BaseModel):
    """The usage so far."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = Field(default=0, description="Answers whose price is unknown; their cost is not included.")
    seconds: float = 0.0


class Deadline(NamedTuple):
    """The seconds that a call may still take, and the error to raise after them."""

    seconds: float
    error: LimitError


class Meter:
    """Counts the usage of a case or a run, in total and by role, against its limits.

    Tokens and cost are known only after an answer, so each of several concurrent calls may exceed a limit once; the
    number of calls is never exceeded.
    """

    def __init__(
        self, scope: Literal["case", "run"], limits: Limits | None = None, roles: Mapping[str, Limits] | None = None
    ) -> None:
        self.scope = scope
        self.limits = limits or Limits()
        self.roles = dict(roles or {})
        self._total = Spent()
        self._by_role: dict[str, Spent] = {}
        self._started = time.monotonic()

    @classmethod
    def of(
        cls,
        traces: Iterable[Trace],
        scope: Literal["case", "run"],
        limits: Limits | None = None,
        roles: Mapping[str, Limits] | None = None,
    ) -> "Meter":
        """Create a meter that continues from recorded usage: one trace for a case, all traces for a run.

        Earlier time is the time during which at least one recorded call was under way. A call of unknown price counts
        as free.
        """
        meter = cls(scope, limits, roles)
        calls = [call for trace in traces for call in trace.calls if call.attempts and not call.cached]
        for call in calls:
            meter.count_call(call.role)
            meter.add(call.role, call.input_tokens + call.output_tokens, call.cost, call.seconds)
        meter._total.seconds = _busy_seconds(calls)
        return meter

    def without_limits(self) -> "Meter":
        """Return a meter that shares this one's counts but has no limits."""
        unlimited = Meter(self.scope)
        unlimited._total, unlimited._by_role, unlimited._started = self._total, self._by_role, self._started
        return unlimited

    @property
    def spent(self) -> Spent:
        """The total usage; seconds since the meter started are included."""
        seconds = self._total.seconds + time.monotonic() - self._started
        return self._total.model_copy(update={"seconds": seconds})

    def count_call(self, role: str) -> None:
        """Count a question that is about to be asked."""
        self._total.calls += 1
        self._of(role).calls += 1

    def add(self, role: str, tokens: int = 0, cost: float | None = 0.0, seconds: float = 0.0) -> None:
        """Add the usage of an answer; ``cost`` is None if its price is unknown.

        ``seconds`` count for the role only; the total is measured by the clock.
        """
        for spent in (self._total, self._of(role)):
            spent.tokens += tokens
            spent.cost += cost or 0.0
            spent.unpriced += cost is None
        self._of(role).seconds += seconds

    def check(self, role: str, *, new_call: bool, priced: Callable[[], bool]) -> None:
        """Raise LimitError if a limit is reached; ModelSpecError if it is of cost, and the model's price not known."""
        for whose, limits, spent in self._limited(role):
            if limits.cost is not None and not priced():
                raise ModelSpecError(
                    f"the cost of the {whose} is limited, but the price of {role}'s model is unknown; set prices"
                )
            for what in ("calls", "tokens", "cost", "seconds"):
                limit, taken = getattr(limits, what), getattr(spent, what)
                if limit is not None and taken >= limit and (what != "calls" or new_call):
                    raise self._error(whose, what, limit, taken, role)

    def deadlines(self, role: str) -> Iterator[Deadline]:
        """Yield the deadlines for a call of the role."""
        for whose, limits, spent in self._limited(role):
            if limits.seconds is not None:
                error = self._error(whose, "seconds", limits.seconds, None, role)
                yield Deadline(limits.seconds - spent.seconds, error)

    def _limited(self, role: str) -> Iterator[tuple[str, Limits, Spent]]:
        yield self.scope, self.limits, self.spent
        if role in self.roles:
            yield "role", self.roles[role], self._of(role)

    def _of(self, role: str) -> Spent:
        return self._by_role.setdefault(role, Spent())

    def _error(self, whose: str, what: str, limit: float, taken: float | None, role: str) -> LimitError:
        unit = "US dollars" if what == "cost" else what.removesuffix("s") if limit == 1 else what
        used = "used up during a call" if taken is None else f"{taken:.6g} used"
        message = f"limit of {limit:.6g} {unit} for the {whose} reached: {used} (role {role})"
        return LimitError(f"{whose}_{what}_limit", message)


_meters: contextvars.ContextVar[tuple[Meter, ...]] = contextvars.ContextVar("meters", default=())


@contextmanager
def metering(*meters: Meter) -> Iterator[None]:
    """Count the calls made inside the block, and by tasks started in it, and enforce the meters' limits.

    Meters of an outer block count too.
    """
    with holding(_meters, (*_meters.get(), *meters)):
        yield


class Account:
    """One call's view of all active meters."""

    def __init__(self, role: str, *, priced: Callable[[], bool], asked_before: bool) -> None:
        self._role = role
        self._priced = priced
        self._meters = _meters.get()
        self._counted = asked_before

    def check(self) -> None:
        """Check the limits before an answer is requested, at first or for a repair; raises as `Meter.check`."""
        for meter in self._meters:
            meter.check(self._role, new_call=not self._counted, priced=self._priced)
        if not self._counted:
            # Count now, not when the answer has come: other calls check at the same time.
            for meter in self._meters:
                meter.count_call(self._role)
        self._counted = True

    def add(self, tokens: int = 0, cost: float | None = 0.0, seconds: float = 0.0) -> None:
        """Add the usage of an answer, whose price may be unknown (None), or the duration of the call."""
        for meter in self._meters:
            meter.add(self._role, tokens, cost, seconds)

    def deadline(self) -> Deadline | None:
        """Return the earliest deadline for this call; None if no time limit applies."""
        ends = (end for meter in self._meters for end in meter.deadlines(self._role))
        return min(ends, default=None, key=lambda end: end.seconds)


def _busy_seconds(calls: Iterable[Call]) -> float:
    """Return the seconds covered by the calls, counting concurrent ones once."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted((call.started, call.ended) for call in calls):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
