"""Show the progress of a run: a live bar on a terminal, plain lines elsewhere, or its events as JSON."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any, Literal

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from llm.events import watching
from llm.throttle import throttles
from wardround.printing import printable, printable_line

Shown = Literal["auto", "json"]

_USUAL_STEPS = 60.0  # assumed of a case until one has ended
_MOST_OF_A_CASE = 0.95  # the largest share of the bar that an unfinished case may fill
_EVERY = 0.1  # between two updates of the bar


@contextmanager
def live_view(console: Console, title: str = "", progress: Shown = "auto") -> Iterator[Progress | None]:
    """Show the progress of the runs inside the block; yields the bar, if there is one.

    Args:
        console: where it is shown.
        title: printed before each line.
        progress: `auto`: a bar on a terminal, a line per case elsewhere; `json`: instead, every event as a line of
            JSON.
    """
    if progress == "json":
        with watching(partial(_write_event, console.file)):
            yield None
    elif console.is_terminal:
        with _Bar(console, printable(title)) as bar, watching(bar.update_from):
            yield bar
    else:
        with watching(partial(_print_end, console, printable(title))):
            yield None


def _write_event(out: IO[str], event: dict[str, Any]) -> None:
    """Write an event as a line of JSON; an error of the reader does not affect the run."""
    with suppress(OSError, ValueError):  # a full disk, a closed pipe or file
        out.write(json.dumps(event) + "\n")
        out.flush()


def _print_end(console: Console, title: str, event: dict[str, Any]) -> None:
    if event["event"] == "case_ended":
        case = f"{event['case_id']} epoch {event['epoch']}: {_ending(event)}"
        _print_line(console, f"{title}{event['done']}/{event['total']} {case}")


def _print_line(console: Console, text: str) -> None:
    # To highlight a long id takes minutes.
    console.print(printable_line(text), markup=False, highlight=False, soft_wrap=True)


def _ending(event: dict[str, Any]) -> str:
    return str(event["termination"]) + ("" if event["error"] is None else f": {event['error']}")


class _Bar(Progress):
    """A bar that also moves within a case; below it, the stages and requests in flight and the scores so far."""

    def __init__(self, console: Console, title: str) -> None:
        self._title = title
        self._start_time = time.monotonic()
        self._drawn = 0.0
        self._done = self._failed = self._calls = self._tokens = self._failed_requests = self._ended = self._steps = 0
        self._cost: float | None = 0.0
        self._total: int | None = None
        self._scores: dict[str, float] = {}
        self._cases: dict[tuple[str, int], int] = {}  # running, with the steps taken so far
        self._stages: dict[tuple[str, int], str] = {}
        self._in_flight: set[tuple[str, int, str]] = set()  # calls in flight
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[count]}"))
        super().__init__(SpinnerColumn(), *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
        self._bar = self.add_task(f"{title}starting", total=None, count="")

    def update_from(self, event: dict[str, Any]) -> None:
        """Update the counts from an event."""
        case = event.get("case_id", ""), event.get("epoch", 0)
        match event["event"]:
            case "run_started":
                self._done, self._failed, self._total = event["done"], event["failed"], event["total"]
            case "case_started":
                self._cases[case] = 0
            case "step_started" if case in self._cases:
                self._cases[case] += 1
                self._stages[case] = event["step"].partition("/")[0]
            case "call_started":
                self._in_flight.add((*case, event["call"]))
            case "call_ended":
                self._in_flight.discard((*case, event["call"]))
                self._calls += 1
            case "request_failed":
                self._failed_requests += 1
            case "case_ended":
                self._end_case(case, event)
        now = time.monotonic()
        if event["event"] == "case_ended" or now - self._drawn > _EVERY:
            self._drawn = now
            self._show()

    def _end_case(self, case: tuple[str, int], event: dict[str, Any]) -> None:
        self._done, self._total, self._scores = event["done"], event["total"], event["scores_so_far"]
        self._failed += not event["scored"]
        self._tokens += event["tokens"]
        self._cost = None if self._cost is None or event["cost"] is None else self._cost + event["cost"]
        self._steps, self._ended = self._steps + self._cases.pop(case, 0), self._ended + 1
        self._stages.pop(case, None)
        self._in_flight = {call for call in self._in_flight if call[:2] != case}
        if not event["scored"]:
            _print_line(self.console, f"{event['case_id']}: {_ending(event)}")

    def _show(self) -> None:
        steps_per_case = self._steps / self._ended if self._steps else _USUAL_STEPS
        within = sum(min(_MOST_OF_A_CASE, steps / steps_per_case) for steps in self._cases.values())
        parts = [f"{self._done - self._failed} scored", f"{self._failed} failed" if self._failed else ""]
        parts += [f"{self._tokens:,} tokens" if self._tokens else "", f"${self._cost:.2f}" if self._cost else ""]
        parts.append(f"{self._calls / max(time.monotonic() - self._start_time, 1e-9):.1f} calls/s")
        completed = max(self._done + within, self.tasks[0].completed)  # a falling estimate must not move the bar back
        count = "" if self._total is None else f"{self._done}/{self._total}"
        description = self._title + ", ".join(filter(None, parts))
        self.update(self._bar, description=description, completed=completed, total=self._total, count=count)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the bar and the lines below it; rich calls this ten times a second."""
        yield from super().get_renderables()
        stages = Counter(list(self._stages.values()))
        where = [f"{name} {count}" for name, count in stages.most_common()]
        asking = [f"{len(self._in_flight)} calls in flight"] * bool(self._in_flight)
        asking += [f"{self._failed_requests} requests failed"] * bool(self._failed_requests)
        servers = [
            f"{server}: {now.in_flight} of {now.allowance} requests, {now.waiting} waiting"
            for server, now in throttles().items()
        ]
        scores = [f"{name} {mean:.2f}" for name, mean in self._scores.items()]
        lines = [" · ".join([*where, *asking, *servers]), f"so far: {', '.join(scores)}" if scores else ""]
        yield Group(*(Text(printable(f"  {line}"), "dim", overflow="ellipsis", no_wrap=True) for line in lines if line))
