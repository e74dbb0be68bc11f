import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import ModelSettings
from llm.specs import ModelSpec
from llm.throttle import Snapshot, Throttle, throttle_of, throttles
from tests.llm.examinee import GOOD, OPINION, put, served, spec
from tests.support.fake_server import FakeServer, Fault

STEPS = st.lists(
    st.tuples(st.sampled_from(["come", "succeed", "refuse", "fail", "leave queue"]), st.integers(0, 30)), max_size=80
)


class Requests:
    """Requests that hold their slot until they are told how they end."""

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self.tasks: list[asyncio.Task[None]] = []
        self.ends: dict[int, asyncio.Future[str]] = {}
        self.admitted: list[int] = []
        self.admitted_beyond = 0

    def come(self) -> None:
        self.tasks.append(asyncio.create_task(self._one(len(self.tasks))))

    async def _one(self, number: int) -> None:
        async with self.throttle.slot() as sent:
            self.admitted.append(number)
            self.admitted_beyond += self.throttle.in_flight > self.throttle.allowance
            self.ends[number] = asyncio.get_running_loop().create_future()
            end = await self.ends[number]
            del self.ends[number]
            if end == "succeed":
                self.throttle.succeeded()
            elif end == "refuse":
                self.throttle.refused(sent, None)


async def settle() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


async def play(most: int, steps: list[tuple[str, int]]) -> None:
    throttle = Throttle(most)
    requests = Requests(throttle)
    for what, which in steps:
        if what == "come":
            requests.come()
        elif what == "leave queue":
            if requests.tasks:
                requests.tasks[which % len(requests.tasks)].cancel()
        elif open_ends := [end for end in requests.ends.values() if not end.done()]:
            open_ends[which % len(open_ends)].set_result(what)
        await settle()
        assert 1 <= throttle.allowance <= most
        assert throttle.in_flight == len([end for end in requests.ends.values() if not end.done()])
        assert throttle.in_flight >= min(throttle.allowance, throttle.in_flight + throttle.waiting)
    assert requests.admitted_beyond == 0
    assert requests.admitted == sorted(requests.admitted)
    for task in requests.tasks:
        task.cancel()
    await asyncio.gather(*requests.tasks, return_exceptions=True)
    assert (throttle.in_flight, throttle.waiting) == (0, 0)


@given(st.integers(1, 8), STEPS)
def test_never_more_than_the_allowance_come_in_first_come_first_served_and_no_slot_is_lost(
    most: int, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(play(most, steps))


@given(st.integers(1, 64), st.integers(0, 8))
def test_after_any_number_of_refusals_the_whole_allowance_grows_back(most: int, bursts: int) -> None:
    async def story() -> None:
        throttle = Throttle(most)
        for _ in range(bursts):
            throttle.refused(asyncio.get_running_loop().time(), None)
        low = throttle.allowance
        assert low == max(1, most // 8, most >> bursts) if bursts else low == most
        needed = sum(range(low, most))  # as many successes as are allowed at once, for each one more
        for _ in range(needed):
            throttle.succeeded()
        assert throttle.allowance == most
        throttle.succeeded()
        assert throttle.allowance == most

    asyncio.run(story())


async def test_the_refusals_of_one_burst_shrink_the_allowance_once() -> None:
    throttle = Throttle(64)
    sent = asyncio.get_running_loop().time()
    for _ in range(64):
        throttle.refused(sent, None)
    assert throttle.allowance == 32
    throttle.refused(asyncio.get_running_loop().time(), None)
    assert throttle.allowance == 16


async def test_refusals_leave_an_eighth_of_the_upper_bound() -> None:
    throttle = Throttle(64)
    for _ in range(20):
        throttle.refused(asyncio.get_running_loop().time(), None)
    assert throttle.allowance == 8


async def test_a_refusal_among_many_answers_holds_one_slot_and_stops_nobody_else() -> None:
    throttle = Throttle(4)
    for _ in range(10):
        throttle.succeeded()
    throttle.refused(asyncio.get_running_loop().time(), 0.5)
    assert (throttle.allowance, throttle.in_flight) == (2, 1)
    async with throttle.slot():  # at once
        assert throttle.in_flight == 2
    await asyncio.sleep(0.52)
    assert throttle.in_flight == 0


async def test_what_a_refusal_took_is_not_given_back_by_another_upper_bound() -> None:
    throttle = Throttle(8)
    throttle.set_most(16)
    assert throttle.allowance == 16
    throttle.refused(asyncio.get_running_loop().time(), None)
    throttle.set_most(64)
    assert throttle.allowance == 8
    throttle.set_most(2)
    assert throttle.allowance == 2


# At a server


def together(*questions: Coroutine[Any, Any, Any]) -> "asyncio.Future[list[Any]]":
    return asyncio.gather(*questions)


async def test_a_server_never_gets_more_requests_at_once_than_allowed() -> None:
    with FakeServer(answer=lambda request: GOOD, latency=0.05) as server:
        results = await together(*(put(served(server, max_connections=3)) for _ in range(12)))
    assert server.max_in_flight == 3
    assert all(opinion == OPINION for opinion, _ in results)


async def test_two_servers_have_slots_of_their_own() -> None:
    with FakeServer(latency=0.5) as one, FakeServer(latency=0.5) as other:
        settings = [served(server, max_connections=1) for server in (one, other)]
        await together(*(put(each) for each in settings))
        assert {f"openai@{server.base_url}" for server in (one, other)} <= throttles().keys()
    (here,), (there,) = one.requests, other.requests
    assert max(here.time_in, there.time_in) < min(here.time_out or 0.0, there.time_out or 0.0)


@pytest.mark.slow
async def test_the_wait_for_a_slot_is_not_taken_from_the_requests_time() -> None:
    with FakeServer(answer=lambda request: GOOD, latency=0.3) as server:
        settings = served(server, max_connections=1, timeout=1.0, max_attempts=1)
        results = await together(*(put(settings) for _ in range(6)))  # the last one waits for 1.5 s
    assert all(opinion == OPINION and call.attempts == 1 for opinion, call in results)


async def test_nobody_asks_a_server_before_the_time_that_it_asked_for_is_over() -> None:
    with FakeServer(answer=lambda request: GOOD, faults=["429"], retry_after=0.6, latency=0.05) as server:
        settings = served(server, max_connections=2)
        await together(*(put(settings) for _ in range(8)))
    refused = next(request for request in server.requests if request.status == 429)
    over = (refused.time_out or 0.0) + 0.6
    before = [request for request in server.requests if request.time_in < over - 0.02]
    assert len(before) <= 3  # the two of the burst, and one that may have followed the other before the refusal came
    assert len(server.requests) == 9


@pytest.mark.parametrize("fault", ["500", "503", "disconnect", "timeout", "cut_json", "empty_choice"])
async def test_faults_that_say_nothing_of_the_load_leave_the_allowance_as_it_is(fault: Fault) -> None:
    with FakeServer(answer=lambda request: GOOD, faults=[fault] * 2, hold=3) as server:
        await together(*(put(served(server, max_connections=8, timeout=0.5)) for _ in range(4)))
        assert throttle_of(ModelSpec.parse(spec(server)), 8).allowance == 8


async def test_a_429_halves_the_allowance_and_calm_gives_it_back() -> None:
    with FakeServer(answer=lambda request: GOOD, faults=["429"], retry_after=0.01) as server:
        settings = served(server, max_connections=4)
        await put(settings)
        throttle = throttle_of(ModelSpec.parse(spec(server)), 4)
        assert throttle.allowance == 2
        for _ in range(4):
            await put(settings)
        assert throttle.allowance == 4


async def test_a_cancelled_question_gives_its_slot_to_the_next() -> None:
    with FakeServer(answer=lambda request: GOOD, latency=0.3) as server:
        settings = served(server, max_connections=1)
        first, second, third = (asyncio.create_task(put(settings)) for _ in range(3))
        while not server.requests:  # noqa: ASYNC110 - they are added by another thread
            await asyncio.sleep(0.01)
        first.cancel()
        second.cancel()
        opinion, _ = await asyncio.wait_for(third, 5)
    assert opinion == OPINION and len(server.requests) == 2


async def test_a_slot_that_is_given_in_the_moment_of_cancelling_is_not_lost() -> None:
    throttle = Throttle(1)

    async def one() -> str:
        async with throttle.slot():
            return "in"

    async with throttle.slot():
        waiting = asyncio.create_task(one())
        await settle()
    waiting.cancel()  # the slot is its own by now, but it has not run since
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled() and throttle.in_flight == 0
    assert await asyncio.wait_for(one(), 1) == "in"


async def test_the_snapshot_tells_what_is_allowed_under_way_and_waiting() -> None:
    with FakeServer() as server:
        server.hold_answers(0)
        name = f"openai@{server.base_url}"
        asked = asyncio.create_task(_several(served(server, max_connections=2), 5))
        while len(server.requests) < 2:  # noqa: ASYNC110 - they are added by another thread
            await asyncio.sleep(0.01)
        assert throttles()[name] == Snapshot(allowance=2, in_flight=2, waiting=3)
        server.release()
        await asked
        assert throttles()[name] == Snapshot(allowance=2, in_flight=0, waiting=0)


async def _several(settings: ModelSettings, count: int) -> None:
    await together(*(put(settings) for _ in range(count)))


async def test_requests_wait_their_turn_in_the_order_of_asking() -> None:
    throttle = Throttle(1)
    order: list[int] = []

    async def one(number: int) -> None:
        async with throttle.slot():
            order.append(number)
            await asyncio.sleep(0)

    await together(*(one(number) for number in range(5)))
    assert order == [0, 1, 2, 3, 4]


async def test_a_pause_that_is_prolonged_is_waited_out_in_full() -> None:
    throttle = Throttle(1)
    start = time.monotonic()
    throttle.refused(0.0, 0.1)

    async def one() -> float:
        async with throttle.slot():
            return time.monotonic() - start

    waiting = asyncio.create_task(one())
    await asyncio.sleep(0.05)
    throttle.refused(0.0, 0.2)
    throttle.refused(0.0, 0.01)  # and never shortened
    assert await waiting >= 0.24


async def test_the_pause_does_not_let_more_in_than_are_allowed_after_it() -> None:
    throttle = Throttle(8)
    throttle.refused(asyncio.get_running_loop().time(), 0.05)
    peaks: list[int] = []

    async def one() -> None:
        async with throttle.slot():
            peaks.append(throttle.in_flight)
            await asyncio.sleep(0.01)

    await together(*(one() for _ in range(12)))
    assert max(peaks) == 4
