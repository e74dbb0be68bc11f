import asyncio
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from llm import AnswerError, Call, LimitError, Limits, Meter, ModelSettings, ModelSpecError, Role, Trace, ask, metering
from llm.trace import collecting_calls
from tests.llm.examinee import GOOD, OPINION, Opinion, View, fail, put, served, spec
from tests.llm.test_trace import call
from tests.support.fake_server import FakeServer

OTHER = Role("other", "rehearsal", "judges/claims", Opinion, offline=lambda view: OPINION)


def traced(*calls: Call) -> Trace:
    return Trace(calls=calls)


def paid(id: str, **update: Any) -> Call:
    return call(id, input_tokens=60, output_tokens=40, cost=0.25, seconds=2.0, **update)


# What is refused


@pytest.mark.parametrize(
    ("limits", "reason", "words"),
    [
        (Limits(calls=2), "case_calls_limit", "limit of 2 calls for the case reached: 2 used"),
        (Limits(tokens=1), "case_tokens_limit", "limit of 1 token for the case reached"),
        (Limits(cost=1e-9), "case_cost_limit", "limit of 1e-09 US dollars for the case reached"),
        (Limits(seconds=0.0), "case_seconds_limit", "limit of 0 seconds for the case reached"),
    ],
)
async def test_each_limit_ends_the_case_with_a_reason_and_a_message_that_name_it(
    limits: Limits, reason: str, words: str
) -> None:
    with FakeServer() as server, metering(Meter("case", limits)):
        settings = served(server, prices={spec(server): (1.0, 1.0)})
        with pytest.raises(LimitError) as caught:
            for _ in range(9):
                await put(settings)
        assert len(server.requests) == {"case_calls_limit": 2, "case_seconds_limit": 0}.get(reason, 1)
    assert caught.value.reason == reason
    assert words in str(caught.value) and "(role examinee)" in str(caught.value)


async def test_a_roles_limit_holds_for_that_role_only() -> None:
    with FakeServer() as server, metering(Meter("case", roles={"examinee": Limits(calls=1)})):
        await put(served(server))
        error, record = await fail(served(server), LimitError)
        await ask(OTHER, View(), served(server), language="en")
        assert len(server.requests) == 2
    assert "limit of 1 call for the role reached: 1 used (role examinee)" in error
    assert record.error == f"role_calls_limit: {error}" and record.attempts == 0


async def test_the_run_is_limited_over_all_its_cases() -> None:
    run = Meter("run", Limits(calls=3))
    with FakeServer() as server:
        for _ in range(3):
            with metering(Meter("case", Limits(calls=1)), run):
                await put(served(server))
        with metering(Meter("case", Limits(calls=1)), run), pytest.raises(LimitError) as caught:
            await put(served(server))
    assert caught.value.reason == "run_calls_limit" and run.spent.calls == 3


async def test_the_repair_is_asked_leave_for_but_is_no_call_of_its_own() -> None:
    with FakeServer(answer=lambda request: GOOD, faults=["cut_json", None, "cut_json"]) as server:
        with metering(Meter("case", Limits(calls=1))):
            await put(served(server))
            assert len(server.requests) == 2
        with metering(Meter("case", Limits(tokens=1))):
            error, record = await fail(served(server), LimitError)
    assert len(server.requests) == 3 and "limit of 1 token for the case" in error
    assert record.attempts == 1 and record.input_tokens > 0 and not record.repaired


async def test_a_call_under_way_is_cut_off_when_the_time_is_over() -> None:
    with FakeServer(latency=20) as server, metering(Meter("case", Limits(seconds=0.5))):
        start = time.monotonic()
        error, record = await fail(served(server), LimitError)
    assert time.monotonic() - start < 5
    assert "limit of 0.5 seconds for the case reached: used up during a call (role examinee)" in error
    assert record.attempts == 1 and (record.error or "").startswith("case_seconds_limit")


async def test_a_call_that_waits_for_a_slot_is_cut_off_too_and_sends_nothing() -> None:
    with FakeServer() as server:
        server.hold_answers(0)
        asked = asyncio.create_task(put(served(server, max_connections=1)))
        while not server.requests:  # noqa: ASYNC110 - they are added by another thread
            await asyncio.sleep(0.01)
        with metering(Meter("case", roles={"examinee": Limits(seconds=0.2)})):
            _, record = await fail(served(server, max_connections=1), LimitError)
        server.release()
        await asked
    assert record.attempts == 0 and len(server.requests) == 1


async def test_a_request_that_times_out_within_the_time_of_the_case_is_still_sent_again() -> None:
    with (
        FakeServer(answer=lambda request: GOOD, faults=["timeout"], hold=9) as server,
        metering(Meter("case", Limits(seconds=60.0))),
    ):
        opinion, record = await put(served(server, timeout=1.0))
    assert opinion == OPINION and record.attempts == 2


async def test_a_cost_limit_without_a_known_price_is_an_error_before_anything_is_sent() -> None:
    with FakeServer() as server, metering(Meter("case", Limits(cost=1.0))):
        with pytest.raises(ModelSpecError, match="the cost of the case is limited, but the price of examinee's model"):
            await put(served(server))
        assert server.requests == []


async def test_what_the_models_took_is_counted_in_all_and_by_role() -> None:
    meter = Meter("case")
    with FakeServer(answer=lambda request: GOOD, faults=["500", "cut_json"], latency=0.2) as server, metering(meter):
        settings = served(server, prices={spec(server): (2.0, 10.0)})
        _, record = await put(settings)
        with collecting_calls() as calls:
            await ask(OTHER, View(), settings, language="en")
    (other,) = calls
    assert meter.spent.calls == 2
    assert meter.spent.tokens == traced(record, other).tokens
    assert meter.spent.cost == pytest.approx(traced(record, other).cost)
    by_role = meter._by_role
    assert [by_role[role].tokens for role in ("examinee", "other")] == [traced(record).tokens, traced(other).tokens]
    assert by_role["examinee"].seconds == pytest.approx(record.seconds, abs=0.2) and record.seconds > 0.6


async def test_a_failed_answer_was_paid_and_counts() -> None:
    meter = Meter("case")
    with FakeServer(faults=["cut_json"] * 2) as server, metering(meter):
        _, record = await fail(served(server), AnswerError)
    assert meter.spent.calls == 1 and meter.spent.tokens == traced(record).tokens > 0


async def test_rules_and_people_are_not_limited() -> None:
    meter = Meter("case", Limits(calls=0, tokens=0, cost=0.0))
    with metering(meter):
        await put(ModelSettings())
    assert meter.spent.calls == 0


async def test_inner_meters_count_besides_outer_ones_and_only_inside_their_block() -> None:
    outer, inner = Meter("run"), Meter("case")
    with FakeServer() as server:
        with metering(outer):
            with metering(inner):
                await put(served(server))
            await put(served(server))
        await put(served(server))
    assert (outer.spent.calls, inner.spent.calls) == (2, 1)


async def test_a_meter_without_its_limits_charges_the_same_account() -> None:
    run = Meter("run", Limits(calls=1))
    with FakeServer() as server:
        with metering(run):
            await put(served(server))
        with metering(run.without_limits()):
            await put(served(server))
        with metering(run), pytest.raises(LimitError, match="2 used"):
            await put(served(server))
    assert run.spent.calls == 2 and run._by_role["examinee"].calls == 2


# Side by side


@pytest.mark.parametrize("slots", [1, 4])
async def test_calls_side_by_side_never_exceed_the_limit_of_calls(slots: int) -> None:
    meter = Meter("case", Limits(calls=5))
    with FakeServer(latency=0.05) as server, metering(meter):
        settings = served(server, max_connections=slots)
        results = await asyncio.gather(*(put(settings) for _ in range(12)), return_exceptions=True)
    assert len(server.requests) == meter.spent.calls == 5
    assert [type(result) for result in results if isinstance(result, BaseException)] == [LimitError] * 7


@given(st.integers(0, 300), st.integers(1, 6), st.lists(st.integers(0, 60), max_size=30))
def test_tokens_go_past_the_limit_by_the_calls_under_way_at_most(limit: int, slots: int, sizes: list[int]) -> None:
    meter = Meter("case", Limits(tokens=limit))
    waiting = list(sizes)
    largest = max(sizes, default=0)

    def take() -> int | None:
        try:
            meter.check("examinee", new_call=True, priced=lambda: False)
        except LimitError:
            return None
        return waiting.pop() if waiting else None

    while under_way := [size for _ in range(slots) if (size := take()) is not None]:
        for size in under_way:
            meter.add("examinee", size)
    assert meter.spent.tokens <= max(limit - 1, 0) + slots * largest
    if waiting:
        assert meter.spent.tokens >= limit


# Going on after a resume


def test_a_meter_goes_on_from_the_calls_of_a_trace() -> None:
    cached, offline = paid("c", cached=True, attempts=1), paid("d", attempts=0, model="offline")
    failed = paid("e", role="other", error="model_error: gone")
    meter = Meter.of([traced(paid("a"), paid("b"), cached, offline, failed)], "case", Limits(calls=3))
    assert (meter.spent.calls, meter.spent.tokens, meter.spent.cost) == (3, 300, 0.75)
    assert meter._by_role["other"].calls == 1
    with pytest.raises(LimitError) as caught:
        meter.check("examinee", new_call=True, priced=lambda: True)
    assert caught.value.reason == "case_calls_limit"


def test_the_time_of_earlier_sittings_is_that_in_which_a_call_was_under_way() -> None:
    calls = [paid("a", started=10.0), paid("b", started=11.0), paid("c", started=11.5), paid("d", started=100.0)]
    meter = Meter.of([traced(*calls)], "case")
    assert meter.spent.seconds == pytest.approx(3.5 + 2.0, abs=0.1)
    assert meter._by_role["examinee"].seconds == pytest.approx(8.0)


def test_a_run_goes_on_from_the_traces_of_all_its_cases() -> None:
    meter = Meter.of([traced(paid("a")), traced(paid("a"))], "run", Limits(tokens=200))
    with pytest.raises(LimitError, match="limit of 200 tokens for the run reached: 200 used"):
        meter.check("examinee", new_call=True, priced=lambda: True)


INTERVALS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10)), max_size=12)


@given(INTERVALS)
def test_time_under_way_counts_every_moment_once(intervals: list[tuple[int, int]]) -> None:
    calls = [call(str(number), started=float(at), seconds=float(long)) for number, (at, long) in enumerate(intervals)]
    moments = {moment for at, long in intervals for moment in range(at, at + long)}
    before = time.monotonic()
    spent = Meter.of([traced(*calls)], "case").spent.seconds
    assert len(moments) <= spent <= len(moments) + time.monotonic() - before + 1e-6


# The limits themselves


@pytest.mark.parametrize(
    "given_", [{"calls": -1}, {"tokens": 1.5}, {"calls": "3"}, {"cost": float("nan")}, {"token": 1}, {"seconds": "1h"}]
)
def test_a_limit_that_is_none_is_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Limits(**given_)


def test_whole_numbers_are_fine_for_money_and_time_and_nothing_is_limited_unless_set() -> None:
    assert (Limits(cost=1, seconds=3600).cost, Limits(cost=1, seconds=3600).seconds) == (1.0, 3600.0)
    check: Callable[[], None] = lambda: Meter("case").check("any", new_call=True, priced=lambda: False)  # noqa: E731
    check()
    assert set(Limits().model_dump().values()) == {None}


def test_the_error_of_a_limit_passes_from_one_process_to_another() -> None:
    """A pool of processes would wait for ever for one that cannot be read."""
    passed = pickle.loads(pickle.dumps(LimitError("case_calls_limit", "limit of 1 call for the case reached")))
    assert (str(passed), passed.reason) == ("limit of 1 call for the case reached", "case_calls_limit")
