from typing import Any, cast

import pytest

from llm import retries
from llm.retries import Patience, retrying


def test_no_wait_is_longer_than_allowed_whatever_the_attempt() -> None:
    patience, state = Patience(5000), cast(Any, type("State", (), {"outcome": None}))
    for _ in range(5000):
        patience.failed(ConnectionError())
        assert 0 < patience.wait(state) <= 1.25 * retries._LONGEST_OWN_WAIT


@pytest.mark.parametrize("text", ["Fri, 20 Nov 2020 16:00:00 GMT", "soon", "", "0", "-3", "inf", "nan"])
def test_a_retry_after_that_is_no_time_to_come_falls_back_to_our_own_wait(text: str) -> None:
    response = type("Response", (), {"headers": {"retry-after": text}})
    error = type("Busy", (Exception,), {"response": response})()
    outcome = type("Outcome", (), {"exception": lambda self: error})()
    state: Any = type("State", (), {"outcome": outcome})
    assert 0 < Patience(9).wait(state) < 1


def test_an_old_connection_is_passed_over_at_once() -> None:
    outcome = type("Outcome", (), {"exception": lambda self: RuntimeError("Event loop is closed")})()
    assert Patience(9).wait(cast(Any, type("State", (), {"outcome": outcome}))) == 0


def test_each_wait_is_twice_the_last_one_up_to_twenty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.25)
    monkeypatch.setattr(retries.random, "uniform", lambda least, most: (least + most) / 2)
    patience, state, waits = Patience(9), cast(Any, type("State", (), {"outcome": None})), []
    for _ in range(9):
        patience.failed(ConnectionError())
        waits.append(retrying(patience).wait(state))
    assert waits == [0.25, 0.5, 1, 2, 4, 8, 16, 20, 20]


def test_a_busy_server_uses_up_the_patience_four_times_more_slowly_than_a_failing_one() -> None:
    state = cast(Any, None)
    for passing, tries in ((False, 2), (True, 8)):
        patience, failed = Patience(2), 0
        while not patience.is_used_up(state):
            patience.failed(ConnectionError(), passing=passing)
            failed += 1
        assert failed == tries
