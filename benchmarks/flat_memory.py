"""Run many synthetic cases offline through the whole workflow and watch the memory of the process.

    python -m benchmarks.flat_memory --cases 12163

The cases are the built-in ones under new ids, each with a number in its complaint, so that no two are embedded alike.
Printed: the resident memory in MiB after each tenth, what the second half added (less than 50 MiB is expected), and the
cases a second. Exit status 1 if more was added, or a case was lost.
"""

import argparse
import asyncio
import json
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cases import load_cases, save_cases
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.run_directory import Result

ALLOWED = 50.0


def main() -> None:
    """Run the benchmark and print what was found."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", type=int, default=12_163)
    arguments.add_argument("--concurrency", type=int, default=8)
    options = arguments.parse_args()
    with TemporaryDirectory() as folder:
        found = watch(Path(folder), options.cases, options.concurrency)
    print(json.dumps(found, indent=2))
    sys.exit(found["added by the second half"] >= ALLOWED or found["attempted"] != options.cases)


def watch(folder: Path, cases: int, concurrency: int) -> dict[str, Any]:
    """Run the cases and take the memory after each tenth."""
    plain = [case for case in load_cases() if not case.examinations.images]
    made = [
        case.model_copy(
            update={
                "id": f"{number:05}-{case.id}",
                "patient": case.patient.model_copy(
                    update={"chief_complaint": f"{case.patient.chief_complaint} ({number})"}
                ),
            }
        )
        for number, case in enumerate(islice(cycle(plain), cases))
    ]
    save_cases(made, folder / "cases.jsonl")
    del made
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
    main()
