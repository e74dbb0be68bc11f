"""Kill a run at random moments, repeatedly, and compare its result with that of an uninterrupted run.

    python -m benchmarks.kills --kills 300 --cases 40 --seed 1
    python -m benchmarks.kills --kills 300 --aim scoring     # or manifest, or sweep

Each round starts ``wardround run`` as a process in the same directory and kills it (SIGKILL) at a random moment: during
the length of an uninterrupted run, during its judges' calls, or while the run directory is created. A run that finishes
is checked, also by ``wardround doctor``, and the next one starts in a new directory. The output has the kills, the
finished runs, the differences (none are expected), and the requests that a kill costs: those in flight. Processes are
forked from one that has imported everything, as imports take most of the start-up time.
"""

import json
import random
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import typer

from cases import load_cases
from tests.support.fake_server import FakeServer, FaultPlan
from tests.support.processes import Forked
from wardround.run.doctor import examine, find_damaged_runs
from wardround.store.provenance import differences

SETTINGS = ("retrieval=false", "general_agents=2", "discussion_rounds=1", "feedback=same_stage", "max_turns=2")
JUDGES = ("claim_extractor", "claim_judge", "diagnosis_judge")
SWEEP = "[grid]\nseed = [1, 2, 3]\n"
LONGEST = 700  # characters of a difference that are shown
Aim = Literal["run", "scoring", "manifest", "sweep"]
Moment = Callable[[], bool]


def main(
    kills: int = 300, cases: int = 40, seed: int = 1, concurrency: int = 16, faults: bool = False, aim: Aim = "run"
) -> None:
    """Run the benchmark and print what was found; with ``--faults`` also 5 % of 429 and of 500 each."""
    plan = FaultPlan(seed, {"429": 0.05, "500": 0.05}) if faults else ()
    with FakeServer(faults=plan, models=None) as server, TemporaryDirectory() as folder:
        found = kill_runs(server, Path(folder), kills, cases, concurrency, seed, aim)
    print(json.dumps(found, indent=2))
    raise typer.Exit(bool(found["differences"]))


def kill_runs(
    server: FakeServer, folder: Path, kills: int, cases: int, concurrency: int, seed: int, aim: Aim = "run"
) -> dict[str, Any]:
    """Kill runs until the given number of kills, then let the last one finish."""
    ids = [case.id for case in load_cases()][:cases]
    command = command_of(server, ids, concurrency, folder if aim == "sweep" else None)
    killed([*command, "--limit", "1"], folder / "warm", None)  # imports everything in the process that is forked
    requests_before = len(server.requests)
    start_time = time.monotonic()
    killed(command, folder / "whole", None)
    length, run_requests = time.monotonic() - start_time, len(server.requests) - requests_before
    judge_requests = sum(request.model == "judge" for request in server.requests[requests_before:])
    whole = outcome(folder / "whole")
    expected = {"doctor": [], "runs": {name: {**run, "attempted": sorted(ids)} for name, run in whole["runs"].items()}}
    changes = differences(expected, whole, "uninterrupted run")
    generator = random.Random(seed)
    done, finished, number = 0, 0, 1
    while done < kills or number:
        out = folder / f"killed-{number}"
        moment = moment_of(aim, generator, server, out, length, judge_requests) if done < kills else None
        if killed(command, out, moment):
            done += 1
            continue
        finished += 1
        changes += differences(expected, outcome(out), f"run {number}")
        number = number + 1 if done < kills else 0
    extra_requests = len(server.requests) - requests_before - run_requests * (finished + 1)
    return {
        "aim": aim,
        "kills": done,
        "seconds of an uninterrupted run": round(length, 2),
        "requests of an uninterrupted run": run_requests,
        "finished runs": finished,
        "differences": [change[:LONGEST] for change in changes],
        "requests more per kill": round(extra_requests / max(1, done), 3),
    }


def command_of(server: FakeServer, ids: list[str], concurrency: int, sweep: Path | None) -> list[str]:
    """Return the command line of the run, or of a sweep whose file is written into a folder."""
    command = ["run"]
    if sweep is not None:
        (sweep / "sweep.toml").write_text(SWEEP, "utf-8")
        command.append(str(sweep / "sweep.toml"))
    options = [("--models", f"openai:fake-model@{server.base_url}"), ("--concurrency", str(concurrency))]
    options += [("--models", f"{judge}=openai:judge@{server.base_url}") for judge in JUDGES]
    options += [("--set", setting) for setting in SETTINGS]
    options += [("--case-id", case_id) for case_id in ids]
    return [*command, *chain.from_iterable(options)]


def moment_of(
    aim: Aim, draw: random.Random, server: FakeServer, out: Path, length: float, judged: int
) -> Moment | None:
    """Return a function that tells whether the moment to kill has come; None lets the run finish."""
    if aim == "scoring":
        requests_before, last = len(server.requests), draw.randrange(max(1, judged // 4))
        return lambda: sum(request.model == "judge" for request in server.requests[requests_before:]) > last
    if aim == "manifest":
        if out.exists():  # each directory is killed once while it is created
            return None
        pause, moments = draw.uniform(0, 0.03), []

        def just_begun() -> bool:
            if not moments and any(out.glob("*manifest.json*")) | any(out.glob(".*manifest.json*")):
                moments.append(time.monotonic() + pause)
            return bool(moments) and time.monotonic() > moments[0]

        return just_begun
    ends = time.monotonic() + draw.uniform(0, length)
    return lambda: time.monotonic() > ends


def killed(command: list[str], out: Path, moment: Moment | None) -> bool:
    """Start the run and kill it at a moment; return False if it finished before."""
    with Forked([*command, "--out", out]) as process:
        while process.poll() is None:
            if moment is not None and moment():
                return True  # leaving the block kills it
            time.sleep(0.001)
        ended = process.ended()
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"the run ended with {ended.returncode}: {' '.join(command)} --out {out}: {ended.stderr}")
    return False


def outcome(out: Path) -> dict[str, Any]:
    """Return the summary's scores and all result lines without times, by run, and what the doctor finds."""
    findings_of_runs = [examine(directory, mend=False) for directory in find_damaged_runs(out)]
    runs: dict[str, Any] = {}
    for file in sorted(out.rglob("results.jsonl")):
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        scores = json.loads(file.with_name("summary.json").read_text("utf-8"))["scores"]
        results = {
            line["case_id"]: {key: value for key, value in line.items() if key not in ("seconds", "checksum", "run")}
            for line in lines
        }
        attempted = sorted(line["case_id"] for line in lines)  # other than asked for if one is lost or doubled
        runs[str(file.parent.relative_to(out))] = {"attempted": attempted, "scores": scores, "results": results}
    found = [finding for findings in findings_of_runs for finding in (*findings.mended, *findings.left)]
    return {"doctor": found, "runs": runs}


if __name__ == "__main__":
    typer.run(main)
