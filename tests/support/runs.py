"""Short runs: an experiment with few calls a case, run in this process, and what its directory holds."""

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
from wardround.store.run_directory import Result, read_result
from wardround.store.traces import traces_in

# Built-in test cases, English and Chinese, with and without pictures; sorted, as results are.
CASES = sorted((case for case in load_cases() if case.split == "test"), key=lambda case: case.id)[:12]
IDS = [case.id for case in CASES]

# About twenty calls a case, and no memory to open.
SHORT: dict[str, Any] = {
    "retrieval": False,
    "general_agents": 1,
    "discussion_rounds": 1,
    "feedback": "same_stage",
    "max_turns": 2,
}

JUDGES = {"Claims", "Support", "DiagnosisGrade"}  # the answer types of the judges of a short run


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
    """A short experiment on the first few of `CASES`, or those named; played by the server, or else offline."""
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
    """The server's model as a model map names it."""
    return f"openai:{name}@{server.base_url}"


def run(experiment: Experiment, out: Path) -> dict[str, Any]:
    """Run an experiment and give its summary."""
    return asyncio.run(run_experiment(experiment, out))


def ended(case_id: str, done: int, total: int, **facts: Any) -> None:
    """Tell whoever watches how a case ended."""
    usual = {"epoch": 0, "termination": "completed", "error": None, "scored": True, "tokens": 0, "cost": 0.0}
    tell("case_ended", **{**usual, "case_id": case_id, "done": done, "total": total, "scores_so_far": {}, **facts})


def results(out: Path) -> list[Result]:
    """The lines of ``results.jsonl``, by case and epoch."""
    lines = (out / "results.jsonl").read_text("utf-8").split("\n")[:-1]
    return sorted(map(read_result, lines), key=lambda result: result.key)


def outcomes(out: Path) -> list[dict[str, Any]]:
    """The results without their seconds and their run, which no two runs have in common."""
    return [result.model_dump(exclude={"seconds", "run"}) for result in results(out)]


def calls(out: Path, case_id: str, epoch: int = 0) -> list[dict[str, Any]]:
    """The recorded calls of a case, without what the graph filed by itself."""
    lines = trace_lines(out / "traces" / f"{case_id}-{epoch}.jsonl")
    return [entry for entry in map(json.loads, lines) if "event" not in entry]


def asked(server: FakeServer) -> Counter[str]:
    """How often each prompt came to the server, by digest. Not the judges': a scoring cut short is begun anew."""
    return Counter(request.digest for request in server.requests if request.name not in JUDGES)


def answered(out: Path) -> Counter[str]:
    """How often each prompt stands in the traces with its answer, by digest; what is only half written is left out."""
    lines = [line for file in traces_in(out / "traces") for line in trace_lines(file) if line.endswith("\n")]
    return Counter(digest_of(call["messages"]) for call in map(json.loads, lines) if call.get("attempts"))


def again(whole: Counter[str], before: Counter[str], after: Counter[str]) -> set[str]:
    """The prompts that a resumed run asked once more although their answers had been written."""
    return {digest for digest, times in after.items() if before[digest] + times > whole[digest]}
