"""Run many cases against a server with a period of faults: no case is lost, and the rate recovers.

    python -m benchmarks.storm --cases 500 --seed 1

The middle third of the requests gets 30 % of 429 (with Retry-After), 10 % of 500, 5 % of time-outs and 5 % of broken
JSON. The output has attempted, scored and failed cases by termination, the answers per second before, during and after
the faults, and the ratio of the rate after to the rate before.
"""

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from benchmarks.many_cases import write_cases
from tests.support.fake_server import ChatRequest, FakeServer, Fault, FaultPlan
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment

STORM: dict[Fault, float] = {"429": 0.30, "500": 0.10, "timeout": 0.05, "cut_json": 0.05}
SETTINGS = {
    "retrieval": False,
    "general_agents": 1,
    "discussion_rounds": 1,
    "feedback": "same_stage",
    "max_turns": 2,
    "timeout": 5.0,
}


def main(cases: int = 500, seed: int = 1, concurrency: int = 32) -> None:
    """Run the benchmark and print what was found."""
    with TemporaryDirectory() as folder:
        found = weather(Path(folder), cases, concurrency, seed)
    print(json.dumps(found, indent=2))
    raise typer.Exit(found["attempted"] != cases or found["attempted"] != found["scored"] + found["failed"])


def weather(folder: Path, cases: int, concurrency: int, seed: int) -> dict[str, Any]:
    """Run the cases; the faults start after a third of the expected requests and last for another third."""
    with FakeServer() as calm:
        asyncio.run(run_experiment(experiment(folder, calm, 5, concurrency), folder / "calm"))
        expected = len(calm.requests) / 5 * cases
    plan = FaultPlan(seed, STORM)

    def fault(request: ChatRequest) -> Fault | None:
        return plan(request) if expected / 3 <= request.index < 2 * expected / 3 else None

    with FakeServer(faults=fault) as server:
        summary = asyncio.run(run_experiment(experiment(folder, server, cases, concurrency), folder / "run"))
        answer_times = [request.time_out for request in server.requests if request.time_out and request.status == 200]
        arrival_times = [request.time_in for request in server.requests]
    storm_span = arrival_times[int(expected / 3)], arrival_times[min(int(2 * expected / 3), len(arrival_times) - 1)]
    # The last part is left out, where fewer cases are running.
    spans = {
        "before": (arrival_times[0], storm_span[0]),
        "in": storm_span,
        "after": (storm_span[1], arrival_times[int(len(arrival_times) * 0.95)]),
    }
    pace = {
        name: sum(start <= time < end for time in answer_times) / max(end - start, 1e-9)
        for name, (start, end) in spans.items()
    }
    return {
        **{key: summary[key] for key in ("attempted", "scored", "failed", "terminations")},
        "requests": len(arrival_times),
        "answers a second": {name: round(value, 1) for name, value in pace.items()},
        "pace after / before": round(pace["after"] / pace["before"], 2),
    }


def experiment(folder: Path, server: FakeServer, cases: int, concurrency: int) -> Experiment:
    """Return a short run of the given number of cases, made from built-in ones without pictures."""
    file = folder / f"{cases}.jsonl"
    write_cases(file, cases)
    return Experiment.model_validate(
        {
            "data": {"cases": str(file)},
            "models": {"default": f"openai:fake-model@{server.base_url}"},
            "workflow": SETTINGS,
            "run": {"concurrency": concurrency},
        }
    )


if __name__ == "__main__":
    typer.run(main)
