"""What of other people's code is waited for, named: a loop without an end, or a server that is away, says nothing."""

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
_FIRST = 10.0  # after which it is told what is waited for; then after twice as many, and so on

IsTheirs = Callable[[FrameType], bool]
T = TypeVar("T")

_log = logging.getLogger(__name__)


class _Wait:
    """For how long the same call has been seen."""

    call: FrameType | None = None
    begun = due = 0.0

    def seconds(self, call: FrameType | None) -> float:
        """Since it was first seen; 0 if it is another than before, or none."""
        if call is not self.call or call is None:
            self.call, self.begun, self.due = call, time.monotonic(), _FIRST
            return 0.0
        return time.monotonic() - self.begun

    def told(self, call: FrameType | None) -> float:
        """The same, and now and then it is told."""
        waited = self.seconds(call)
        if call is not None and waited >= self.due:
            _log.warning("%s; it is waited for", _placed(call, waited))
            self.due *= 2
        return waited


@cache
def tell_what_is_waited_for(is_theirs: IsTheirs) -> None:
    """Begin to watch, in a thread that ends with the process, what of theirs is called and does not return."""
    threading.Thread(target=_watch, args=(is_theirs,), name="wardround-waiting", daemon=True).start()


def _watch(is_theirs: IsTheirs) -> None:
    waits: dict[int, _Wait] = {}  # by thread; of one that has ended nothing is kept
    while True:
        time.sleep(_LOOK)
        frames = sys._current_frames()
        waits = {thread: waits.get(thread) or _Wait() for thread in frames}
        for thread, innermost in frames.items():
            waits[thread].told(_outermost(innermost, is_theirs))
        del frames, innermost


async def ended_within(seconds: float, work: Awaitable[T], is_theirs: IsTheirs) -> T:
    """What comes of work in which theirs is called; what holds it up for longer is broken off, where that is safe.

    A call that keeps this thread gets a TimeoutError itself, by a signal, if this is the main thread and nobody else
    waits for that signal. One in another thread cannot be broken off, and is only told of.

    Raises:
        TimeoutError: a coroutine of theirs waits for what does not come, and keeps nobody else.
    """
    wait, task = _Wait(), asyncio.ensure_future(work)
    with _broken_off_after(seconds, is_theirs):
        while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
            call = _awaited(is_theirs)
            if call is not None and (waited := wait.told(call)) >= seconds:
                task.cancel()
                raise TimeoutError(_placed(call, waited))
    return task.result()


def _awaited(is_theirs: IsTheirs) -> FrameType | None:
    """A coroutine of theirs that a task of the running loop waits for, if any does."""
    for task in asyncio.all_tasks():
        work: Any = task.get_coro()
        while work is not None:
            frame: FrameType | None = getattr(work, "cr_frame", None)
            if frame is not None and is_theirs(frame):
                return frame
            work = getattr(work, "cr_await", None)
    return None


@contextmanager
def _broken_off_after(seconds: float, is_theirs: IsTheirs) -> Iterator[None]:
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


def _placed(call: FrameType, seconds: float) -> str:
    """The same with the file and the line at which it is."""
    file = Path(call.f_code.co_filename).name
    return f"plug-in {call.f_globals['__name__']}: {_not_returned(call, seconds)} ({file}, line {call.f_lineno})"


def _outermost(frame: FrameType | None, is_theirs: IsTheirs) -> FrameType | None:
    """The call of theirs that the others in it belong to."""
    found = None
    while frame is not None:
        found = frame if is_theirs(frame) else found
        frame = frame.f_back
    return found
