"""Short runs: experiments with few calls per case, run in this process, and the contents of their directories."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from cases import load_cases
from llm.events import tell
from llm.trace import trace_lines
from tests.support.fake_server import FakeServer, digest_of
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment
from wardround.store.result import Result, read_result
from wardround.store.traces import traces_in

# Built-in test cases in English and Chinese, with and without images; sorted like results.
CASES = sorted((case for case in load_cases() if case.split == "test"), key=lambda case: case.id)[:12]
IDS = [case.id for case in CASES]

# About twenty calls per case, and no memory to open.
SHORT: dict[str, Any] = {
    "retrieval": False,
    "general_agents": 1,
    "discussion_rounds": 1,
    "feedback": "same_stage",
    "max_turns": 2,
}

JUDGES = {"Claims", "Support", "DiagnosisGrade"}  # answer types of a short run's judges


def short(
    server: FakeServer | None = None,
    *,
    limit: int = 3,
    case_ids: list[str] | None = None,
    concurrency: int = 4,
    epochs: int = 1,
    models: dict[str, str] | None = None,
    **workflow: Any,
) -> Experiment:
    """Return a short experiment on the first cases of `CASES`, or named ones; with the server's model, or offline."""
    return Experiment.model_validate(
        {
            "data": {"case_ids": case_ids or IDS[:limit]},
            "models": models or {"default": spec(server) if server else "offline"},
            "workflow": {**SHORT, **workflow},
            "epochs": epochs,
            "run": {"concurrency": concurrency},
        }
    )


def spec(server: FakeServer, name: str = "fake-model") -> str:
    """Return the model spec of the server's model."""
    return f"openai:{name}@{server.base_url}"


def run(experiment: Experiment, out: Path) -> dict[str, Any]:
    """Run an experiment, and return its summary."""
    return asyncio.run(run_experiment(experiment, out))


def ended(case_id: str, done: int, total: int, **facts: Any) -> None:
    """Report to the listeners how a case ended."""
    defaults = {"epoch": 0, "termination": "completed", "error": None, "scored": True, "tokens": 0, "cost": 0.0}
    tell("case_ended", **{**defaults, "case_id": case_id, "done": done, "total": total, "scores_so_far": {}, **facts})


def results(out: Path) -> list[Result]:
    """Return the results in ``results.jsonl``, sorted by case and epoch."""
    lines = (out / "results.jsonl").read_text("utf-8").split("\n")[:-1]
    return sorted(map(read_result, lines), key=lambda result: result.key)


def outcomes(out: Path) -> list[dict[str, Any]]:
    """Return the results without seconds and run, which differ between runs."""
    return [result.model_dump(exclude={"seconds", "run"}) for result in results(out)]


def calls(out: Path, case_id: str, epoch: int = 0) -> list[dict[str, Any]]:
    """Return the recorded calls of a case, without the graph's own events."""
    lines = trace_lines(out / "traces" / f"{case_id}-{epoch}.jsonl")
    return [entry for entry in map(json.loads, lines) if "event" not in entry]


def asked(server: FakeServer) -> Counter[str]:
    """Count how often each prompt reached the server, by digest.

    Prompts of judges are left out, since an interrupted scoring starts again.
    """
    return Counter(request.digest for request in server.requests if request.name not in JUDGES)


def answered(out: Path) -> Counter[str]:
    """Count each prompt recorded with its answer in the traces, by digest; without lines that are cut off."""
    lines = [line for file in traces_in(out / "traces") for line in trace_lines(file) if line.endswith("\n")]
    return Counter(digest_of(call["messages"]) for call in map(json.loads, lines) if call.get("attempts"))


def again(whole: Counter[str], before: Counter[str], after: Counter[str]) -> set[str]:
    """Return the prompts that a resumed run asked again although their answers had been recorded."""
    return {digest for digest, times in after.items() if before[digest] + times > whole[digest]}
