"""Report plug-in code that does not return, such as an endless loop or a wait for a server that is down."""

import asyncio
import logging
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

_LOOK = 1.0  # seconds between two looks
_FIRST = 10.0  # seconds before the first warning; the interval doubles after each one

IsTheirs = Callable[[FrameType], bool]
T = TypeVar("T")

_log = logging.getLogger(__name__)


class _Wait:
    """How long the same call has been running."""

    call: FrameType | None = None
    since = due = 0.0

    def seconds(self, call: FrameType | None) -> float:
        """Return the seconds since the call was first seen; 0 if it is a new call, or None."""
        if call is not self.call or call is None:
            self.call, self.since, self.due = call, time.monotonic(), _FIRST
            return 0.0
        return time.monotonic() - self.since

    def warn_if_due(self, call: FrameType | None) -> float:
        """Return the seconds waited, and log a warning when one is due."""
        waited = self.seconds(call)
        if call is not None and waited >= self.due:
            _log.warning("%s; still waiting for it", _location(call, waited))
            self.due *= 2
        return waited


@cache
def tell_what_is_waited_for(is_theirs: IsTheirs) -> None:
    """Watch, in a daemon thread, for calls into plug-in code that do not return."""
    threading.Thread(target=_watch, args=(is_theirs,), name="wardround-waiting", daemon=True).start()


def _watch(is_theirs: IsTheirs) -> None:
    waits: dict[int, _Wait] = {}  # by thread; entries of ended threads are dropped
    while True:
        time.sleep(_LOOK)
        frames = sys._current_frames()
        waits = {thread: waits.get(thread) or _Wait() for thread in frames}
        for thread, innermost in frames.items():
            waits[thread].warn_if_due(_outermost(innermost, is_theirs))
        del frames, innermost


async def ended_within(seconds: float, work: Awaitable[T], is_theirs: IsTheirs) -> T:
    """Await work that calls plug-in code, and interrupt a call that takes too long where that is safe.

    A call that blocks the main thread gets a TimeoutError through SIGALRM, unless that has another handler already. A
    call in another thread cannot be interrupted and is only logged.

    Raises:
        TimeoutError: a plug-in's coroutine waits longer than ``seconds``, or its blocking call was interrupted.
    """
    wait, task = _Wait(), asyncio.ensure_future(work)
    with _interrupted_after(seconds, is_theirs):
        while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
            call = _awaited(is_theirs)
            if call is not None and (waited := wait.warn_if_due(call)) >= seconds:
                task.cancel()
                raise TimeoutError(_location(call, waited))
    return task.result()


def _awaited(is_theirs: IsTheirs) -> FrameType | None:
    """Return a plug-in's coroutine that a task of the running loop awaits, if any."""
    for task in asyncio.all_tasks():
        work: Any = task.get_coro()
        while work is not None:
            frame: FrameType | None = getattr(work, "cr_frame", None)
            if frame is not None and is_theirs(frame):
                return frame
            work = getattr(work, "cr_await", None)
    return None


@contextmanager
def _interrupted_after(seconds: float, is_theirs: IsTheirs) -> Iterator[None]:
    alarm = getattr(signal, "SIGALRM", None)
    in_main = threading.current_thread() is threading.main_thread()
    if alarm is None or not in_main or signal.getsignal(alarm) is not signal.SIG_DFL:
        yield
        return
    wait = _Wait()

    def look(_: int, innermost: FrameType | None) -> None:
        call = _outermost(innermost, is_theirs)
        if call is not None and (waited := wait.seconds(call)) >= seconds:
            raise TimeoutError(_not_returned(call, waited))

    signal.signal(alarm, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(alarm, signal.SIG_DFL)


def _not_returned(call: FrameType, seconds: float) -> str:
    function = call.f_code.co_qualname
    return f"{'its import' if function == '<module>' else f'`{function}`'} has not returned for {seconds:.0f} s"


def _location(call: FrameType, seconds: float) -> str:
    """Describe the call with its file and line."""
    file = Path(call.f_code.co_filename).name
    return f"plug-in {call.f_globals['__name__']}: {_not_returned(call, seconds)} ({file}, line {call.f_lineno})"


def _outermost(frame: FrameType | None, is_theirs: IsTheirs) -> FrameType | None:
    """Return the outermost call of plug-in code."""
    found = None
    while frame is not None:
        found = frame if is_theirs(frame) else found
        frame = frame.f_back
    return found
