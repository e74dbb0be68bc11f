"""Run many synthetic cases offline through the whole workflow and watch the memory of the process.

    python -m benchmarks.flat_memory --cases 12163

The cases are the built-in ones under new ids, each with a number in its complaint, so that no two are embedded alike.
Printed: the resident memory in MiB after each tenth, what the second half added (less than 50 MiB is expected), and the
cases a second. Exit status 1 if more was added, or a case was lost.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from benchmarks.many_cases import write_cases
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.run_directory import Result

ALLOWED = 50.0


def main(cases: int = 12_163, concurrency: int = 8) -> None:
    """Run the benchmark and print what was found."""
    with TemporaryDirectory() as folder:
        found = watch(Path(folder), cases, concurrency)
    print(json.dumps(found, indent=2))
    raise typer.Exit(found["added by the second half"] >= ALLOWED or found["attempted"] != cases)


def watch(folder: Path, cases: int, concurrency: int) -> dict[str, Any]:
    """Run the cases and take the memory after each tenth."""
    write_cases(folder / "cases.jsonl", cases)
    memory: list[float] = []
    began = time.monotonic()

    def on_result(result: Result, done: int, total: int) -> None:
        if done % max(1, total // 10) == 0:
            memory.append(round(resident(), 1))
            print(f"{done}/{total}: {memory[-1]} MiB, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    experiment = Experiment.model_validate(
        {"data": {"cases": str(folder / "cases.jsonl")}, "run": {"concurrency": concurrency}}
    )
    summary = asyncio.run(run_experiment(experiment, folder / "run", on_result))
    return {
        **{key: summary[key] for key in ("attempted", "scored", "failed")},
        "memory after each tenth, MiB": memory,
        "added by the second half": round(memory[9] - memory[4], 1),
        "cases a second": round(cases / (time.monotonic() - began), 2),
    }


def resident() -> float:
    """The resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


if __name__ == "__main__":
    typer.run(main)
