"""Write run directories as a runner would leave them, without running anything."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm.trace import Call
from wardround.config.experiment import Experiment
from wardround.config.selection import select
from wardround.store.manifest import manifest_of
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory

PARTS = ("symptoms", "examinations", "diagnosis", "basis", "treatment")
ENGLISH = ("dentistry-04", "dentistry-05")


def write_run(
    path: Path,
    results: Sequence[Result],
    calls: Mapping[tuple[str, int], Sequence[Call]] | None = None,
    **experiment: Any,
) -> Path:
    """Write a run directory with these results and calls."""
    configuration = Experiment.model_validate({"graph": "dispute_resolution", **experiment})
    directory = RunDirectory(path)
    directory.traces.mkdir(parents=True)
    manifest = {**manifest_of(configuration, select(configuration.data).items), "run": "r"}
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for result in results:
        directory.add(result)
    for key, recorded in (calls or {}).items():
        lines = "".join(call.model_dump_json() + "\n" for call in recorded)
        directory.trace_file(*key).write_text(lines, "utf-8")
    return path


def graded(case_id: str, grade: float = 2.0, **fields: Any) -> Result:
    """Return a finished consultation with this grade in every part."""
    return Result.model_validate(
        {"case_id": case_id, "epoch": 0, "termination": "completed", "scores": dict.fromkeys(PARTS, grade), **fields}
    )


def discussed(case_id: str, rounds: int, ended: str = "agreed", **fields: Any) -> Result:
    """Return a finished consultation of several doctors."""
    return graded(case_id, stages={"discussion": ended}, rounds={"discussion": rounds}, **fields)


def call(name: str = "doctor/turn1", role: str = "doctor", **fields: Any) -> Call:
    """Return a recorded call."""
    return Call.model_validate(
        {
            "id": name, "role": role, "stage": "history_taking", "model": "openai:m", "prompt": "en/x",
            "prompt_hash": "0", "started": 0.0, "seconds": 1.0, "messages": [], "answer": {}, **fields,
        }
    )  # fmt: skip
