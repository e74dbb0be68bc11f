"""Run all performance benchmarks; each figure is a ratio to a yardstick measured alongside, where there is one.

    python -m benchmarks [--only calls --only start] [--cases 24] [--json FILE]

Ratios describe the program, while seconds depend on the machine and its load; CPU time is used where possible.
``docs/performance.md`` has the results, what they brought, and how each figure grows.
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
from benchmarks.many_cases import write_cases, write_finished_run
from llm.role import is_judging
from wardround.config.experiment import Experiment
from wardround.report.pages import report_page
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_run
from wardround.store.result import Result
from wardround.store.traces import read_trace


class Figure(NamedTuple):
    """One figure: what it is, its yardstick, and the value it should not exceed or fall below."""

    what: str
    beside: str
    value: float
    goal: str


def calls(folder: Path, cases: int) -> list[Figure]:
    """Measure the rate and CPU time of the clinical workflow's calls, against the same calls by ChatOpenAI alone."""
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
    """Return the number of sequential steps of a case's calls over the number of calls, as a mean over cases.

    Overlapping calls are one step. The dialogue and the judges are left out.
    """
    shares = []
    for file in traces.iterdir():
        calls_in_order = [
            call for call in read_trace(file).calls if call.stage != "history_taking" and not is_judging(call.stage)
        ]
        steps, ended = 0, 0.0
        for call in sorted(calls_in_order, key=lambda call: call.started):
            if call.started >= ended:
                steps, ended = steps + 1, call.ended
        shares.append(steps / len(calls_in_order))
    return sum(shares) / len(shares)


def recall(folder: Path, cases: int) -> list[Figure]:
    """Measure the search for the three nearest of as many cases as MedChain has, and of a million, against a scan."""
    return [
        Figure(f"three nearest of {records:,} {label}, {share:.2%} found", "an exact scan by NumPy", times, goal)
        for records, number, goal in ((12_163, 200, "at most 2"), (1_000_000, 40, "at most 0.5"))
        for label, share, times in retrieval_exactness.compared(records, number, seed=0)
    ]


def offline(folder: Path, cases: int) -> list[Figure]:
    """Measure a run without a model, its report, its resume, and its use of disk and memory."""
    number = 10 * cases
    write_cases(folder / "cases.jsonl", number)
    experiment = Experiment.model_validate({"data": {"cases": str(folder / "cases.jsonl")}})
    memory: list[float] = []

    def watch(_: Result, done: int, total: int) -> None:
        if done in (total // 2, total):
            memory.append(int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096 / 2**20)

    run_seconds = on_processor(lambda: asyncio.run(run_experiment(experiment, folder / "run", watch)))
    resume_seconds = on_processor(lambda: asyncio.run(run_experiment(experiment, folder / "run")))
    parse_seconds = on_processor(lambda: [json.loads(line) for line in (folder / "run" / "results.jsonl").open()])
    report_seconds = on_processor(lambda: report_page(find_run(folder / "run")))
    for_a_thousand, added = 1000 * report_seconds / number, memory[1] - memory[0]
    trace_bytes = sum(file.stat().st_size for file in (folder / "run" / "traces").iterdir())
    return [
        Figure("cases for a second on a processor, offline", "nothing", number / run_seconds, "at least 20"),
        Figure("resume of a finished run", "json.loads of its results", resume_seconds / parse_seconds, "none"),
        Figure("report of the run", "the run", report_seconds / run_seconds, "none"),
        Figure("report, seconds on a processor for 1,000 cases", "nothing", for_a_thousand, "at most 20"),
        Figure("MB of trace for a case", "nothing", trace_bytes / number / 1e6, "at most 0.1"),
        Figure("MiB of memory that the second half of the cases adds", "nothing", added, "at most 50 of 12,163 cases"),
    ]


def finished(folder: Path, cases: int) -> list[Figure]:
    """Measure the command that runs a finished run of as many cases as MedChain has once more."""
    write_cases(folder / "cases.jsonl", 12_163)
    write_finished_run(folder / "cases.jsonl", folder / "run")
    arguments = ["run", "--cases", str(folder / "cases.jsonl"), "--out", str(folder / "run")]
    code = f"""
import atexit, sys
from pathlib import Path
sys.argv[1:] = {arguments}
atexit.register(lambda: Path({str(folder / "status")!r}).write_text(Path("/proc/self/status").read_text()))
from wardround.cli import main
main()"""
    seconds = min([processor_seconds(code) for _ in range(4)][1:])  # the first compiles modules
    status = dict(line.split(":", 1) for line in (folder / "status").read_text("ascii").splitlines())
    what = "a finished run of 12,163 cases once more"
    return [
        Figure(f"{what}, seconds on a processor", "nothing", seconds, "3"),
        Figure(f"{what}, MiB", "nothing", int(status["VmHWM"].split()[0]) / 1024, "200"),
    ]


def start(folder: Path, cases: int) -> list[Figure]:
    """Measure the start-up time."""
    help_code = "import sys; sys.argv[1:] = ['--help']; from wardround.cli import main; main()"
    return [
        Figure("import graphs", "import langgraph.graph", started("import graphs", "import langgraph.graph"), "1.2"),
        Figure("wardround --help", "import typer, rich", started(help_code, "import typer, rich"), "none"),
    ]


def started(ours: str, yardstick: str) -> float:
    """Return how much longer one piece of Python takes in its own process: the minimum of five alternating runs."""
    spent: dict[str, list[float]] = {ours: [], yardstick: []}
    for _ in range(6):
        for code, seconds in spent.items():
            seconds.append(processor_seconds(code))
    return min(spent[ours][1:]) / min(spent[yardstick][1:])  # the first compiles modules


def processor_seconds(code: str) -> float:
    """Return what a piece of Python takes in its own process; its modules' bytecode is kept, as in an installation."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def on_processor(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work in this process."""
    start_time = time.process_time()
    work()
    return time.process_time() - start_time


GROUPS: dict[str, Callable[[Path, int], list[Figure]]] = {
    group.__name__: group for group in (calls, recall, offline, finished, start)
}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"{', '.join(GROUPS)}; repeatable; all by default.")] = None,
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
