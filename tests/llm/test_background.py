import asyncio
import inspect
import os
import signal
import sys
import threading
import traceback
from concurrent.futures import wait
from typing import Any

import httpx
import pytest

from llm import background
from llm.background import run_in_background
from tests.support.fake_server import FakeServer


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
        run_in_background(work())
    assert told == ["ended"]


def test_work_that_is_interrupted_before_its_first_step_does_not_keep_the_caller(monkeypatch: Any) -> None:
    busy, work = threading.Event(), asyncio.sleep(3600)

    def interrupted(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(background, "wait", released)
        raise KeyboardInterrupt

    def released(outcomes: Any) -> None:
        busy.set()
        assert wait(outcomes, timeout=10).done

    background._background_loop(0).call_soon_threadsafe(busy.wait)
    monkeypatch.setattr(background, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_background(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


def test_connections_of_one_call_serve_the_next() -> None:
    """In a loop of its own, the second run of a program with a `ChatOllama` object failed: its client's was closed."""
    with FakeServer() as server:
        client = httpx.AsyncClient()

        async def status() -> int:
            return (await client.get(f"{server.base_url}/models")).status_code

        assert [run_in_background(status()) for _ in range(3)] == [200] * 3


def test_a_call_within_the_work_of_another_has_a_loop_of_its_own() -> None:
    async def work(within: int) -> int:
        return run_in_background(work(within - 1)) if within else 7

    assert run_in_background(work(2)) == 7


def test_what_the_work_raises_and_returns_reaches_the_caller() -> None:
    async def work(value: int) -> float:
        await asyncio.sleep(0)
        return 1 / value

    assert run_in_background(work(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        run_in_background(work(0))
