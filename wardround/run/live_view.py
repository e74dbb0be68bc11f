"""What a run shows while it is under way: a live line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from wardround.commands.printing import printable
from wardround.run.runner import OnResult
from wardround.store.run_directory import Result


@contextmanager
def live_view(console: Console, title: str = "") -> Iterator[OnResult]:
    """Show each result as it comes; on a terminal with tokens, cost, calls a second and the time left."""
    title = printable(title)
    if console.is_terminal:
        with _bar(console) as progress:
            yield _on_terminal(console, progress, title)
    else:
        yield lambda result, done, total: console.print(
            printable(f"{title}{done}/{total} {result.case_id} epoch {result.epoch}: {_ending(result)}"),
            markup=False,
            soft_wrap=True,
        )


def _ending(result: Result) -> str:
    return result.termination if result.error is None else f"{result.termination}: {result.error}"


def _bar(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _on_terminal(console: Console, progress: Progress, title: str) -> OnResult:
    task = progress.add_task(f"{title}starting", total=None)
    failed = calls = tokens = 0
    cost: float | None = 0.0
    began = time.monotonic()

    def show(result: Result, done: int, total: int) -> None:
        nonlocal failed, calls, tokens, cost
        failed += not result.scored
        calls, tokens = calls + result.calls, tokens + result.tokens
        cost = None if cost is None or result.cost is None else cost + result.cost
        parts = [f"{done - failed} scored", f"{failed} failed" if failed else ""]
        parts += [f"{tokens:,} tokens" if tokens else "", f"${cost:.2f}" if cost else ""]
        parts.append(f"{calls / max(time.monotonic() - began, 1e-9):.1f} calls/s")
        progress.update(task, description=title + ", ".join(filter(None, parts)), completed=done, total=total)
        if not result.scored:
            console.print(printable(f"{result.case_id}: {_ending(result)}"), markup=False)

    return show
