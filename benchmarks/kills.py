"""Kill a run at random moments, again and again, and hold its end against an uninterrupted one.

    python -m benchmarks.kills --kills 300 --cases 40 --seed 1

Each round starts ``wardround run`` as a process of its own in the same directory and kills it (SIGKILL) at a moment
drawn from the length of an uninterrupted run. A run that came to its end is checked, and the next one starts in a new
directory. Printed: the kills, the finished runs, the differences found (none is expected), and how many requests a
kill costs: those that were under way.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from cases import load_cases
from tests.support.fake_server import FakeServer, FaultPlan

SETTINGS = ("retrieval=false", "general_agents=2", "discussion_rounds=1", "feedback=same_stage", "max_turns=2")


def main(kills: int = 300, cases: int = 40, seed: int = 1, concurrency: int = 16, faults: bool = False) -> None:
    """Run the benchmark and print what was found; with ``--faults`` also 5 % of 429 and of 500 each."""
    plan = FaultPlan(seed, {"429": 0.05, "500": 0.05}) if faults else ()
    with FakeServer(faults=plan) as server, TemporaryDirectory() as folder:
        found = kill_runs(server, Path(folder), kills, cases, concurrency, seed)
    print(json.dumps(found, indent=2))
    raise typer.Exit(bool(found["differences"]))


def kill_runs(server: FakeServer, folder: Path, kills: int, cases: int, concurrency: int, seed: int) -> dict[str, Any]:
    """Kill runs until there were so many kills, then let the last one come to its end."""
    ids = [case.id for case in load_cases()][:cases]
    command = command_of(server, ids, concurrency)
    began = time.monotonic()
    subprocess.run([*command, "--out", str(folder / "whole")], check=True, capture_output=True)
    length, whole = time.monotonic() - began, len(server.requests)
    expected = outcome(folder / "whole")
    draw = random.Random(seed)
    done, finished, differences, number = 0, 0, [], 1
    while done < kills or number:
        out = folder / f"killed-{number}"
        seconds = draw.uniform(0, length) if done < kills else None
        if killed(command, out, seconds):
            done += 1
            continue
        finished += 1
        differences += [f"run {number}: {told}" for told in compared(expected, outcome(out), ids)]
        number = number + 1 if done < kills else 0
    more = len(server.requests) - whole * (finished + 1)
    return {
        "kills": done,
        "seconds of an uninterrupted run": round(length, 2),
        "requests of an uninterrupted run": whole,
        "finished runs": finished,
        "differences": differences,
        "requests more per kill": round(more / max(1, done), 3),
    }


def command_of(server: FakeServer, ids: list[str], concurrency: int) -> list[str]:
    """The command line of the run."""
    command = [sys.executable, "-c", "from wardround.cli import main; main()", "run"]
    command += ["--models", f"openai:fake-model@{server.base_url}", "--concurrency", str(concurrency)]
    for setting in SETTINGS:
        command += ["--set", setting]
    for case_id in ids:
        command += ["--case-id", case_id]
    return command


def killed(command: list[str], out: Path, seconds: float | None) -> bool:
    """Start the run and kill it after so many seconds; False if it came to its end before."""
    process = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    if code not in (0, 1):
        raise RuntimeError(f"the run ended with {code}: {' '.join(command)} --out {out}")
    return False


def outcome(out: Path) -> dict[str, Any]:
    """The summary's scores and every result line without its seconds, by case."""
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]
    return {
        "scores": json.loads((out / "summary.json").read_text("utf-8"))["scores"],
        "results": [
            {key: value for key, value in line.items() if key not in ("seconds", "checksum")} for line in lines
        ],
    }


def compared(expected: dict[str, Any], found: dict[str, Any], ids: list[str]) -> list[str]:
    """What differs from the uninterrupted run."""
    told = []
    attempted = sorted(result["case_id"] for result in found["results"])
    if attempted != sorted(ids):
        told.append(f"cases lost or doubled: {attempted}")
    if found["scores"] != expected["scores"]:
        told.append("other scores")
    by_case = {result["case_id"]: result for result in expected["results"]}
    told += [f"{one['case_id']} differs" for one in found["results"] if one != by_case.get(one["case_id"])]
    return told


if __name__ == "__main__":
    typer.run(main)
