from typing import Any, cast

import pytest

from llm import retries
from llm.retries import Patience


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
