"""How near a run comes to what the wire allows: its calls beside the same calls made by ChatOpenAI alone.

    python -m benchmarks --only calls --cases 24

A server in a process of its own answers after a fixed time. One process runs the clinical workflow, graph, state,
trace, journal and checkpoints included; another sends the very messages of that run's trace through one ChatOpenAI, as
many at once. Both are warm, and they take turns.
"""

import asyncio
import json
import multiprocessing
import os
import resource
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
    """A run and ChatOpenAI, the best of several rounds by turns."""
    write_cases(folder / "cases.jsonl", cases)
    ours, theirs = [], []
    for number in range(rounds):
        out = folder / f"run-{number}"
        ours.append(apart(run, folder / "cases.jsonl", url, out, in_flight))
        theirs.append(apart(bare, out, url, in_flight))
    best, yardstick = (min(side, key=lambda took: took.seconds / took.calls) for side in (ours, theirs))
    return best, yardstick


def run(cases: Path, url: str, out: Path, in_flight: int) -> Took:
    """The clinical workflow over the cases, after three cases that import what is needed."""
    settings = {
        "name": "throughput",
        "models": {"default": f"openai:fake-model@{url}"},
        "workflow": {"retrieval": False},
    }
    pace = {"concurrency": in_flight, "max_connections": in_flight}
    first = Experiment.model_validate({**settings, "data": {"cases": str(cases), "limit": 3}, "run": pace})
    whole = Experiment.model_validate({**settings, "data": {"cases": str(cases)}, "run": pace})
    asyncio.run(run_experiment(first, out.with_name(f"{out.name}-warm")))
    with measured() as took:
        asyncio.run(run_experiment(whole, out))
    return took(sum(len(read_trace(file).calls) for file in (out / "traces").iterdir()))


def bare(out: Path, url: str, in_flight: int) -> Took:
    """The same messages through one ChatOpenAI, after one that connects."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(model="fake-model", base_url=url, api_key=SecretStr("none"), max_retries=0)
    asked = [call.messages for file in sorted((out / "traces").iterdir()) for call in read_trace(file).calls]

    async def ask_all() -> Took:
        places = asyncio.Semaphore(in_flight)

        async def ask(messages: Any) -> None:
            async with places:
                json.loads(str((await model.ainvoke(messages, response_format=FORM)).content))

        await ask(asked[0])
        with measured() as took:
            await asyncio.gather(*(ask(messages) for messages in asked))
        return took(len(asked))

    return asyncio.run(ask_all())


@contextmanager
def measured() -> Iterator[Callable[[int], Took]]:
    """What this process takes inside the block, for so many calls."""
    began = time.perf_counter(), _cpu(), _written()
    ended: list[Any] = []

    def took(calls: int) -> Took:
        return Took(calls, *(after - before for before, after in zip(began, ended, strict=True)))

    yield took
    ended += [time.perf_counter(), _cpu(), _written()]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _written() -> int:
    counts = Path("/proc/self/io")
    lines = counts.read_text("ascii").splitlines() if counts.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("wchar")), 0)


def apart(work: Callable[..., Took], *arguments: Any) -> Took:
    """Do it in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


@contextmanager
def served(latency: float) -> Iterator[str]:
    """The server's address."""
    command = [sys.executable, "-m", "tests.support.fake_server", "--latency", str(latency), "--models", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
