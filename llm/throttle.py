"""How many requests a server gets at once: as many as it bears.

The allowance is halved when the server says "too many" and grows back slowly. Servers differ, and so do the loops that
connections belong to: there is one throttle for each server and event loop.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from llm.events import tell
from llm.specs import ModelSpec

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """One server at this moment, over all event loops: requests allowed at once, under way, and waiting to be sent."""

    allowance: int
    in_flight: int
    waiting: int


_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between two looks whether a server is back
_LAST = 20  # replies that tell whether a server refuses now and then, or refuses
_LEAST = 8  # the share of the upper bound that refusals leave: an eighth


class Throttle:
    """The slots of one server in one event loop, given out in the order of asking."""

    def __init__(self, most: int, server: str = "the server") -> None:
        self.most = most
        self.server = server
        self._answered: deque[bool] = deque(maxlen=_LAST)
        self.allowance = most
        self.in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._opens = 0.0
        self._shrunk = 0.0
        self._successes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._last_answer: float | None = None
        self._away: tuple[float, int] | None = None  # since when, and how many were allowed then

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return sum(not place.done() for place in self._queue)

    @property
    def has_answered(self) -> bool:
        """Whether the server has ever answered."""
        return self._last_answer is not None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait for a slot and hold it; gives the time at which it was got, for `refused`."""
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        self._queue.append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the slot was given in the very moment in which the wait was broken off
                self._leave()
            raise
        try:
            yield loop.time()
        finally:
            self._leave()

    def succeeded(self) -> None:
        """The server answered: after as many answers as are allowed at once, one more is allowed."""
        self._answered.append(True)
        self._last_answer = asyncio.get_running_loop().time()
        if self._away is not None:
            since, self.allowance = self._away
            self._away = None
            _log.warning("%s answers again after %.0f s", self.server, self._last_answer - since)
            self._tell()
        self._successes += 1
        if self._successes >= self.allowance and self.allowance < self.most:
            self.allowance += 1
            self._successes = 0
            self._tell()

    def refused(self, sent: float, pause: float | None) -> None:
        """The server said "too many" to a request.

        If it refuses as many as it answers, nobody asks it before the pause is over. Else the refused request alone
        waits, and keeps its slot for so long: a server that refuses at random is not brought to a stand.

        Args:
            sent: when it was sent. Requests of one burst are refused together; only the first of them shrinks the
                allowance.
            pause: seconds in which the server wants no further request, if it said so.
        """
        loop = asyncio.get_running_loop()
        self._answered.append(False)
        if sent >= self._shrunk:
            self.allowance = max(1, self.most // _LEAST, self.allowance // 2)
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

    def lost(self, sent: float, longest: float) -> bool:
        """A request has failed as if the server were away.

        If it is, all wait: one request at a time tries whether it is back, after a pause that grows with the time.

        Args:
            sent: when it was sent: a server that has answered another one since is there. Infinite if it surely is not.
            longest: seconds that the server may be away.

        Returns:
            Whether it is worth waiting for: it has answered before, and is not away for too long.
        """
        now = asyncio.get_running_loop().time()
        if self._last_answer is None or self._last_answer > sent:
            return False
        if self._away is None:
            _log.warning("%s does not answer; the run waits for it, up to %.0f s", self.server, longest)
            self._away = now, self.allowance
            self._tell(away=True)
        since, before = self._away
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
        """Tell whoever watches how many requests are allowed from now on."""
        allowed = {"allowance": 1 if away else self.allowance, "most": self.most, "away": away}
        tell("throttle", server=self.server, **allowed, in_flight=self.in_flight, waiting=self.waiting)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._opens:
            if self._timer is None:
                self._timer = loop.call_at(self._opens, self._reopen)
            return
        while self._queue and self.in_flight < self.allowance:
            place = self._queue.popleft()
            if not place.done():  # else its wait was broken off
                self.in_flight += 1
                place.set_result(None)

    def _reopen(self) -> None:
        self._timer = None
        self._admit()


_throttles: dict[asyncio.AbstractEventLoop, dict[str, Throttle]] = {}


def throttle_of(spec: ModelSpec, most: int, way: str = "") -> Throttle:
    """The throttle of a spec's server in the running event loop; each way of asking it has its own."""
    for loop in list(_throttles):
        if loop.is_closed():
            _throttles.pop(loop, None)
    here = _throttles.setdefault(asyncio.get_running_loop(), {})
    server = f"{spec.server}{way}"
    throttle = here.setdefault(server, Throttle(most, server))
    throttle.set_most(most)
    return throttle


def throttles() -> dict[str, Snapshot]:
    """Every server that is being asked, by `provider` or `provider@base_url`."""
    found: dict[str, Snapshot] = {}
    for loop, here in list(_throttles.items()):
        if loop.is_closed():
            continue
        for server, throttle in list(here.items()):
            before = found.get(server, Snapshot(0, 0, 0))
            found[server] = Snapshot(
                before.allowance + throttle.allowance,
                before.in_flight + throttle.in_flight,
                before.waiting + throttle.waiting,
            )
    return found
