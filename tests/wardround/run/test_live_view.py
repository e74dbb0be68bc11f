"""What a run shows while it is under way."""

import io

from rich.console import Console

from wardround.run.live_view import live_view
from wardround.store.run_directory import Result


def test_a_long_plain_line_stays_one_line_and_control_characters_are_left_out() -> None:
    out = io.StringIO()
    view = live_view(Console(file=out, width=40))
    case = Result(case_id="a\x1b[31m" + "b" * 80, epoch=0, termination="completed")
    with view as report:
        report(case, 1, 1)
    assert out.getvalue() == f"1/1 a[31m{'b' * 80} epoch 0: completed\n"


def test_on_a_terminal_there_is_a_bar_and_failures_are_told_with_their_reason() -> None:
    out = io.StringIO()
    with live_view(Console(file=out, force_terminal=True, width=120)) as report:
        report(Result(case_id="a", epoch=0, termination="completed"), 1, 2)
        report(Result(case_id="b", epoch=0, termination="model_error", error="no answer"), 2, 2)
    assert "b: model_error: no answer" in out.getvalue() and "a: completed" not in out.getvalue()
    assert "1 scored, 1 failed" in out.getvalue() and "2/2" in out.getvalue()
