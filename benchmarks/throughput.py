"""Compare a run's calls with the same calls made by ChatOpenAI alone: how close it is to what the connection allows.

    python -m benchmarks --only calls --cases 24

A server in its own process answers after a fixed time. One process runs the clinical workflow, with graph, state,
trace, journal and checkpoints; another sends the same messages, taken from that run's trace, through one ChatOpenAI,
with the same number in flight. Both are warm, and they alternate.
"""

import asyncio
import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.many_cases import write_cases
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.traces import read_trace

FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {}}}}


class Took(NamedTuple):
    """What some calls took, in one process."""

    calls: int
    seconds: float
    cpu: float
    written: int


def compared(folder: Path, url: str, cases: int, in_flight: int, rounds: int) -> tuple[Took, Took]:
    """Return the best of several alternating rounds: of a run, and of ChatOpenAI."""
    write_cases(folder / "cases.jsonl", cases)
    ours, theirs = [], []
    for number in range(rounds):
        out = folder / f"run-{number}"
        ours.append(apart(run, folder / "cases.jsonl", url, out, in_flight))
        theirs.append(apart(bare, out, url, in_flight))
    best, yardstick = (min(side, key=lambda took: took.seconds / took.calls) for side in (ours, theirs))
    return best, yardstick


def run(cases: Path, url: str, out: Path, in_flight: int) -> Took:
    """Run the clinical workflow over the cases, after three cases that trigger all imports."""
    settings = {
        "name": "throughput",
        "models": {"default": f"openai:fake-model@{url}"},
        "workflow": {"retrieval": False},
        "run": {"concurrency": in_flight, "max_connections": in_flight},
    }
    warm_up = Experiment.model_validate({**settings, "data": {"cases": str(cases), "limit": 3}})
    all_cases = Experiment.model_validate({**settings, "data": {"cases": str(cases)}})
    asyncio.run(run_experiment(warm_up, out.with_name(f"{out.name}-warm")))
    with measured() as took:
        asyncio.run(run_experiment(all_cases, out))
    return took(sum(len(read_trace(file).calls) for file in (out / "traces").iterdir()))


def bare(out: Path, url: str, in_flight: int) -> Took:
    """Send the same messages through one ChatOpenAI, after one that opens the connection."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(model="fake-model", base_url=url, api_key=SecretStr("none"), max_retries=0)
    messages_of_calls = [
        call.messages for file in sorted((out / "traces").iterdir()) for call in read_trace(file).calls
    ]

    async def ask_all() -> Took:
        semaphore = asyncio.Semaphore(in_flight)

        async def ask(messages: Any) -> None:
            async with semaphore:
                json.loads(str((await model.ainvoke(messages, response_format=FORM)).content))

        await ask(messages_of_calls[0])
        with measured() as took:
            await asyncio.gather(*(ask(messages) for messages in messages_of_calls))
        return took(len(messages_of_calls))

    return asyncio.run(ask_all())


@contextmanager
def measured() -> Iterator[Callable[[int], Took]]:
    """Measure what this process takes inside the block; the yielded function takes the number of calls."""
    start = time.perf_counter(), time.process_time(), _written()
    end: list[Any] = []

    def took(calls: int) -> Took:
        return Took(calls, *(after - before for before, after in zip(start, end, strict=True)))

    yield took
    end += [time.perf_counter(), time.process_time(), _written()]


def _written() -> int:
    counts = Path("/proc/self/io")
    lines = counts.read_text("ascii").splitlines() if counts.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("wchar")), 0)


def apart(work: Callable[..., Took], *arguments: Any) -> Took:
    """Do the work in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


@contextmanager
def served(latency: float) -> Iterator[str]:
    """Start the server, and yield its address."""
    command = [sys.executable, "-m", "tests.support.fake_server", "--latency", str(latency), "--models", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
