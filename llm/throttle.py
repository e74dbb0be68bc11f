"""Limit the concurrent requests to each server to what it bears.

The allowance is halved when the server answers 429 and grows back slowly. Each server has one throttle per event loop,
because connections belong to loops.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from llm.events import tell
from llm.scopes import in_this_loop
from llm.specs import ModelSpec

_log = logging.getLogger(__name__)


class Snapshot(NamedTuple):
    """One server at this moment, over all event loops: allowed, running and waiting requests."""

    allowance: int
    in_flight: int
    waiting: int


_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between two probes whether a server is back
_WORTH_SAYING = 2.0  # seconds; single 502s of a proxy pass unsaid
_RECENT = 20  # recent replies that tell occasional refusals from general ones
_FLOOR_DIVISOR = 8  # the allowance never falls below an eighth of the upper bound


class Throttle:
    """The slots of one server in one event loop, given out in order of request."""

    def __init__(self, most: int, server: str = "the server") -> None:
        self.most = most
        self.server = server
        self._answered: deque[bool] = deque(maxlen=_RECENT)
        self.allowance = most
        self.in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._opens = 0.0
        self._shrunk = 0.0
        self._successes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._last_answer: float | None = None
        self.has_refused = False  # a request; the server is waited for if it takes no connections later
        self._away: tuple[float, int] | None = None  # since when, and the allowance before
        self._said = False  # whether the log says that it is away

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a slot."""
        return sum(not place.done() for place in self._queue)

    @property
    def is_away(self) -> bool:
        """Whether the server is waited for."""
        return self._away is not None

    @property
    def has_answered(self) -> bool:
        """Whether the server has ever answered."""
        return self._last_answer is not None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait for a slot and hold it; yields the time at which it was given, for `refused`."""
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        self._queue.append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the slot was given just as the wait was cancelled
                self._leave()
            raise
        try:
            yield loop.time()
        finally:
            self._leave()

    def succeeded(self) -> None:
        """Record an answer: after as many answers as the allowance, the allowance grows by one."""
        self._answered.append(True)
        self._last_answer = asyncio.get_running_loop().time()
        if self._away is not None:
            since, self.allowance = self._away
            self._away = None
            if self._said:
                _log.warning("%s answers again after %.0f s", self.server, self._last_answer - since)
            self._said = False
            self._tell()
        self._successes += 1
        if self._successes >= self.allowance and self.allowance < self.most:
            self.allowance += 1
            self._successes = 0
            self._tell()

    def refused(self, sent: float, pause: float | None) -> None:
        """Record a 429.

        If the server refuses at least half of the recent requests, no request is sent before the pause is over.
        Otherwise only the refused request waits, keeping its slot, so that a server that refuses at random is not
        stalled.

        Args:
            sent: when the request was sent. Requests of one burst are refused together; only the first shrinks the
                allowance.
            pause: seconds that the server asked to wait, if it named any.
        """
        loop = asyncio.get_running_loop()
        self._answered.append(False)
        if sent >= self._shrunk:
            self.allowance = max(1, self.most // _FLOOR_DIVISOR, self.allowance // 2)
            self._shrunk = loop.time()
            self._tell()
        self._successes = 0
        if pause is None:
            return
        if 2 * sum(self._answered) <= len(self._answered):
            self._opens = max(self._opens, loop.time() + pause)
        else:
            self.in_flight += 1
            loop.call_later(pause, self._leave)

    def lost(self, sent: float, longest: float, loading: bool = False) -> bool:
        """Record a request that failed as if the server were away.

        If it is away, all requests wait: one at a time probes whether it is back, after a pause that grows with time.

        Args:
            sent: when the request was sent: a server that has answered another one since is there. Infinite if it
                surely is away.
            longest: seconds that the server may be away.
            loading: whether it says that it will come up, so that it is waited for before it has ever answered.

        Returns:
            Whether to wait for it: it has answered before, is loading, or surely is away after a refusal; and is not
                away for too long.
        """
        now = asyncio.get_running_loop().time()
        is_expected = loading or (self.has_refused and sent == math.inf)
        if self._last_answer > sent if self._last_answer is not None else not is_expected:
            return False
        if self._away is None:
            self._away = now, self.allowance
            self._tell(away=True)
        since, before = self._away
        if not self._said and (sent == math.inf or now - since >= _WORTH_SAYING):
            _log.warning("%s does not answer; the run waits up to %.0f s for it", self.server, longest)
            self._said = True
        if now - since > longest:
            self.allowance = before
            return False
        self.allowance = 1
        self._opens = max(self._opens, now + min(_LONGEST_PAUSE, max(_FIRST_PAUSE, (now - since) / 4)))
        return True

    def set_most(self, most: int) -> None:
        """Change the upper bound; what a refusal took away still has to grow back."""
        self.most = most
        if self._away is None:
            self.allowance = min(self.allowance, most) if self._shrunk else most

    def _tell(self, *, away: bool = False) -> None:
        """Send the current allowance to watchers."""
        allowed = {"allowance": 1 if away else self.allowance, "most": self.most, "away": away}
        tell("throttle", server=self.server, **allowed, in_flight=self.in_flight, waiting=self.waiting)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._opens:
            self._timer = self._timer or loop.call_at(self._opens, self._reopen)
            return
        while self._queue and self.in_flight < self.allowance:
            place = self._queue.popleft()
            if not place.done():  # the others were cancelled
                self.in_flight += 1
                place.set_result(None)

    def _reopen(self) -> None:
        self._timer = None
        self._admit()


_throttles: dict[asyncio.AbstractEventLoop, dict[str, Throttle]] = {}


def throttle_of(spec: ModelSpec, most: int, way: str = "") -> Throttle:
    """Return the throttle of a spec's server in the running event loop; ``way`` separates batches from the rest."""
    server = f"{spec.server}{way}"
    throttle = in_this_loop(_throttles).setdefault(server, Throttle(most, server))
    throttle.set_most(most)
    return throttle


def throttles() -> dict[str, Snapshot]:
    """Return every server in use, by `provider` or `provider@base_url`."""
    found: dict[str, Snapshot] = {}
    for in_loop in [in_loop for loop, in_loop in list(_throttles.items()) if not loop.is_closed()]:
        for server, throttle in list(in_loop.items()):
            now = Snapshot(throttle.allowance, throttle.in_flight, throttle.waiting)
            before = found.get(server, Snapshot(0, 0, 0))
            found[server] = Snapshot(*map(sum, zip(before, now, strict=True)))
    return found
