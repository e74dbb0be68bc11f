"""Kill a run at random moments, again and again, and hold its end against an uninterrupted one.

    python -m benchmarks.kills --kills 300 --cases 40 --seed 1
    python -m benchmarks.kills --kills 300 --aim scoring     # or manifest, or sweep

Each round starts ``wardround run`` as a process of its own in the same directory and kills it (SIGKILL) at a moment
that is drawn: of an uninterrupted run's length, of its judges' calls, or of the first moments of the run directory. A
run that came to its end is checked, also by ``wardround doctor``, and the next one starts in a new directory. Printed:
the kills, the finished runs, the differences found (none is expected), and how many requests a kill costs: those that
were under way. Processes are forked from one that has imported everything, which is most of what a start takes.
"""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import typer

from cases import load_cases
from tests.support.fake_server import FakeServer, FaultPlan
from tests.support.processes import Forked
from wardround.run.doctor import examine, find_damaged_runs

SETTINGS = ("retrieval=false", "general_agents=2", "discussion_rounds=1", "feedback=same_stage", "max_turns=2")
JUDGES = ("claim_extractor", "claim_judge", "diagnosis_judge")
SWEEP = "[grid]\nseed = [1, 2, 3]\n"
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
    """Kill runs until there were so many kills, then let the last one come to its end."""
    ids = [case.id for case in load_cases()][:cases]
    command = command_of(server, ids, concurrency, folder if aim == "sweep" else None)
    killed([*command, "--limit", "1"], folder / "warm", None)  # the one that all are forked from imports
    already = len(server.requests)
    began = time.monotonic()
    killed(command, folder / "whole", None)
    length, whole = time.monotonic() - began, len(server.requests) - already
    judged = sum(request.model == "judge" for request in server.requests[already:])
    expected = outcome(folder / "whole")
    draw = random.Random(seed)
    done, finished, differences, number = 0, 0, [], 1
    while done < kills or number:
        out = folder / f"killed-{number}"
        moment = moment_of(aim, draw, server, out, length, judged) if done < kills else None
        if killed(command, out, moment):
            done += 1
            continue
        finished += 1
        differences += [f"run {number}: {told}" for told in compared(expected, outcome(out), ids)]
        number = number + 1 if done < kills else 0
    more = len(server.requests) - already - whole * (finished + 1)
    return {
        "aim": aim,
        "kills": done,
        "seconds of an uninterrupted run": round(length, 2),
        "requests of an uninterrupted run": whole,
        "finished runs": finished,
        "differences": differences,
        "requests more per kill": round(more / max(1, done), 3),
    }


def command_of(server: FakeServer, ids: list[str], concurrency: int, sweep: Path | None) -> list[str]:
    """The command line of the run, or of a sweep whose file is put into a folder."""
    command = ["run"]
    if sweep is not None:
        (sweep / "sweep.toml").write_text(SWEEP, "utf-8")
        command.append(str(sweep / "sweep.toml"))
    command += ["--models", f"openai:fake-model@{server.base_url}", "--concurrency", str(concurrency)]
    for judge in JUDGES:
        command += ["--models", f"{judge}=openai:judge@{server.base_url}"]
    for setting in SETTINGS:
        command += ["--set", setting]
    for case_id in ids:
        command += ["--case-id", case_id]
    return command


def moment_of(
    aim: Aim, draw: random.Random, server: FakeServer, out: Path, length: float, judged: int
) -> Moment | None:
    """When to kill: asked again and again, it tells whether the moment has come; None lets the run come to its end."""
    if aim == "scoring":
        already, last = len(server.requests), draw.randrange(max(1, judged // 4))
        return lambda: sum(request.model == "judge" for request in server.requests[already:]) > last
    if aim == "manifest":
        if out.exists():  # each directory is killed once while it is begun
            return None
        pause, seen = draw.uniform(0, 0.03), []

        def just_begun() -> bool:
            if not seen and any(out.glob("*manifest.json*")) | any(out.glob(".*manifest.json*")):
                seen.append(time.monotonic() + pause)
            return bool(seen) and time.monotonic() > seen[0]

        return just_begun
    ends = time.monotonic() + draw.uniform(0, length)
    return lambda: time.monotonic() > ends


def killed(command: list[str], out: Path, moment: Moment | None) -> bool:
    """Start the run and kill it at a moment; False if it came to its end before."""
    with Forked([*command, "--out", out]) as process:
        while process.poll() is None:
            if moment is not None and moment():
                return True  # leaving kills it
            time.sleep(0.001)
        ended = process.ended()
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"the run ended with {ended.returncode}: {' '.join(command)} --out {out}: {ended.stderr}")
    return False


def outcome(out: Path) -> dict[str, Any]:
    """By run: the summary's scores and every result line without its seconds; and what a doctor finds."""
    looked = [examine(directory, mend=False) for directory in find_damaged_runs(out)]
    found: dict[str, Any] = {"doctor": [told for findings in looked for told in (*findings.mended, *findings.left)]}
    for file in sorted(out.rglob("results.jsonl")):
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        scores = json.loads(file.with_name("summary.json").read_text("utf-8"))["scores"]
        kept = [
            {key: value for key, value in line.items() if key not in ("seconds", "checksum", "run")} for line in lines
        ]
        found[str(file.parent.relative_to(out))] = {"scores": scores, "results": kept}
    return found


def compared(expected: dict[str, Any], found: dict[str, Any], ids: list[str]) -> list[str]:
    """What differs from the uninterrupted run."""
    if damage := found.pop("doctor"):
        return [f"the doctor finds damage: {damage}"]
    runs = expected.keys() - {"doctor"}
    if found.keys() != runs:
        return [f"other runs: {sorted(found)}"]
    return [f"{run} {told}" for run in sorted(runs) for told in differing(expected[run], found[run], ids)]


def differing(expected: dict[str, Any], found: dict[str, Any], ids: list[str]) -> list[str]:
    """What differs of one run."""
    told = []
    attempted = sorted(result["case_id"] for result in found["results"])
    if attempted != sorted(ids):
        told.append(f"cases lost or doubled: {attempted}")
    if found["scores"] != expected["scores"]:
        told.append("other scores")
    by_case = {result["case_id"]: result for result in expected["results"]}
    for one in found["results"]:
        whole = by_case.get(one["case_id"], {})
        fields = [key for key in one if one[key] != whole.get(key)]
        told += [f"{one['case_id']}, {key}: {str(one[key])[:300]} not {str(whole.get(key))[:300]}" for key in fields]
    return told


if __name__ == "__main__":
    typer.run(main)
