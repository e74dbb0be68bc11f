"""How commands end."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from wardround.commands.exits import end_gently

SIGNS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _signals_given_back() -> Iterator[None]:
    before = {sign: signal.getsignal(sign) for sign in [*SIGNS, signal.SIGINT]}
    yield
    for sign, handler in before.items():
        signal.signal(sign, handler)


@pytest.mark.parametrize("control_c", [signal.default_int_handler, signal.SIG_IGN])  # ignored behind a shell
@pytest.mark.parametrize("sign", SIGNS)
def test_the_end_of_a_session_interrupts_as_control_c_does(sign: signal.Signals, control_c: Any) -> None:
    signal.signal(signal.SIGINT, control_c)
    signal.signal(sign, signal.SIG_DFL)
    end_gently()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(sign)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_signal_that_was_to_be_ignored_is_ignored_as_under_nohup(sign: signal.Signals) -> None:
    signal.signal(sign, signal.SIG_IGN)
    end_gently()
    signal.raise_signal(sign)
    assert signal.getsignal(sign) is signal.SIG_IGN
