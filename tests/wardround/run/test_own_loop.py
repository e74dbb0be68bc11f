import asyncio
import os
import signal
import sys
import threading
import traceback
from concurrent.futures import wait

import pytest

from wardround.run.own_loop import in_own_loop


def until_the_main_thread_waits() -> None:
    while True:
        frame = sys._current_frames()[threading.main_thread().ident or 0]
        if wait.__code__ in [one.f_code for one, _ in traceback.walk_stack(frame)]:
            return


def test_ctrl_c_cancels_the_work_which_ends_what_it_must() -> None:
    """As under `asyncio.run`; a run whose caller was interrupted went on, and was paid, to its last case."""
    told = []

    async def work() -> None:
        until_the_main_thread_waits()
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(3)
            told.append("went on")
        finally:
            told.append("ended")

    with pytest.raises(KeyboardInterrupt):
        in_own_loop(work())
    assert told == ["ended"]


def test_what_the_work_raises_and_returns_reaches_the_caller() -> None:
    async def work(value: int) -> float:
        await asyncio.sleep(0)
        return 1 / value

    assert in_own_loop(work(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        in_own_loop(work(0))
