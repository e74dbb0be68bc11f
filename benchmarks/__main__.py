"""All figures of speed in one go, each a ratio to a yardstick that is measured beside it.

    python -m benchmarks [--only calls --only start] [--cases 24] [--json FILE]

Seconds say something of a machine and of what else it does, ratios of the program; time on a processor is taken where
it can be. ``docs/performance.md`` tells what was found, what it bought, and how each figure grows.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks import retrieval_exactness, throughput
from benchmarks.many_cases import write_cases
from graphs.contexts import is_judging
from wardround.config.experiment import Experiment
from wardround.report.pages import write_report
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import open_run
from wardround.store.run_directory import Result
from wardround.store.traces import read_trace


class Figure(NamedTuple):
    """One figure: what it is, what it is measured beside, and what it should be at most or at least."""

    what: str
    beside: str
    value: float
    goal: str


def calls(folder: Path, cases: int) -> list[Figure]:
    """The pace and the price of a call of the clinical workflow, beside the same calls by ChatOpenAI alone."""
    with throughput.served(0.05) as url:
        ours, bare = throughput.compared(folder, url, cases, 64, 2)
        path = critical_path(folder / "run-0" / "traces")
    beside = "the same calls by one ChatOpenAI"
    pace = (ours.calls / ours.seconds) / (bare.calls / bare.seconds)
    price = (ours.cpu / ours.calls) / (bare.cpu / bare.calls)
    return [
        Figure("calls a second, 64 in flight, 50 ms", beside, pace, "at least 0.8"),
        Figure("time on a processor for a call", beside, price, "at most 1.5"),
        Figure("kB written for a call", "nothing", ours.written / ours.calls / 1000, "at most 8"),
        Figure("steps that wait for one another, without dialogue and score", "calls", path, "at most 0.30"),
    ]


def critical_path(traces: Path) -> float:
    """How many steps the calls of a case take, one after the other, over the calls; the mean of the cases.

    What overlaps is one step. The dialogue and the judges of the score are left out.
    """
    shares = []
    for file in traces.iterdir():
        own = [call for call in read_trace(file).calls if call.stage != "history_taking" and not is_judging(call.stage)]
        steps, ended = 0, 0.0
        for call in sorted(own, key=lambda call: call.started):
            if call.started >= ended:
                steps, ended = steps + 1, call.started + call.seconds
        shares.append(steps / len(own))
    return sum(shares) / len(shares)


def recall(folder: Path, cases: int) -> list[Figure]:
    """The three nearest of as many records as MedChain has, and of a million, beside an exact scan."""
    return [
        Figure(f"three nearest of {records:,} {label}, {share:.2%} found", "an exact scan by NumPy", times, goal)
        for records, number, goal in ((12_163, 200, "at most 2"), (1_000_000, 40, "at most 0.5"))
        for label, share, times in retrieval_exactness.compared(records, number, seed=0)
    ]


def offline(folder: Path, cases: int) -> list[Figure]:
    """A run without a model, its report, its resume, and the room that it takes on the disk and in memory."""
    number = 10 * cases
    write_cases(folder / "cases.jsonl", number)
    experiment = Experiment.model_validate({"data": {"cases": str(folder / "cases.jsonl")}})
    memory: list[float] = []

    def watch(_: Result, done: int, total: int) -> None:
        if done in (total // 2, total):
            memory.append(int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096 / 2**20)

    took = on_processor(lambda: asyncio.run(run_experiment(experiment, folder / "run", watch)))
    again = on_processor(lambda: asyncio.run(run_experiment(experiment, folder / "run")))
    plain = on_processor(lambda: [json.loads(line) for line in (folder / "run" / "results.jsonl").open()])
    report = on_processor(lambda: write_report(open_run(folder / "run")))
    room = sum(file.stat().st_size for file in (folder / "run" / "traces").iterdir())
    return [
        Figure("cases for a second on a processor, offline", "nothing", number / took, "at least 20"),
        Figure("resume of a finished run", "json.loads of its results", again / plain, "none"),
        Figure("report of the run", "the run", report / took, "none"),
        Figure("report, seconds on a processor for 1,000 cases", "nothing", 1000 * report / number, "at most 20"),
        Figure("MB of trace for a case", "nothing", room / number / 1e6, "at most 0.1"),
        Figure("MiB of memory that the second half of the cases adds", "nothing", memory[1] - memory[0], "at most 50"),
    ]


def start(folder: Path, cases: int) -> list[Figure]:
    """What is loaded before anything happens."""
    helped = "import sys; sys.argv[1:] = ['--help']; from wardround.cli import main; main()"
    return [
        Figure("import graphs", "import langgraph.graph", started("import graphs", "import langgraph.graph"), "1.2"),
        Figure("wardround --help", "import typer, rich", started(helped, "import typer, rich"), "none"),
    ]


def started(ours: str, yardstick: str) -> float:
    """How much longer one piece of Python takes in a process of its own: the least of five each, by turns."""
    least = {ours: float("inf"), yardstick: float("inf")}
    for _ in range(5):
        for code in least:
            before = os.times()
            subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
            after = os.times()
            spent = after.children_user + after.children_system - before.children_user - before.children_system
            least[code] = min(least[code], spent)
    return least[ours] / least[yardstick]


def on_processor(work: Callable[[], object]) -> float:
    """The seconds that this process spends on it."""
    began = time.process_time()
    work()
    return time.process_time() - began


GROUPS: dict[str, Callable[[Path, int], list[Figure]]] = {
    group.__name__: group for group in (calls, recall, offline, start)
}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"{', '.join(GROUPS)}; all of them by default.")] = None,
    cases: Annotated[int, typer.Option(min=1, help="Of a run with a model; ten times as many offline.")] = 24,
    to: Annotated[Path | None, typer.Option("--json", help="Also write the figures into this file.")] = None,
) -> None:
    """Measure, and print a table."""
    if unknown := set(only or ()) - GROUPS.keys():
        raise typer.BadParameter(f"--only {', '.join(sorted(unknown))}: expected {', '.join(GROUPS)}")
    found: list[Figure] = []
    for group in only or GROUPS:
        with TemporaryDirectory() as folder:
            found += GROUPS[group](Path(folder), cases)
    table = Table("What", "Beside", "Measured", "Goal")
    for figure in found:
        table.add_row(
            figure.what, figure.beside, np.format_float_positional(figure.value, 3, fractional=False), figure.goal
        )
    Console().print(table)
    if to:
        to.write_text(json.dumps([figure._asdict() for figure in found], indent=2), "utf-8")


if __name__ == "__main__":
    typer.run(main)
