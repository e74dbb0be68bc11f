"""Make any number of cases from the built-in ones, and a finished run of them."""

import asyncio
import shutil
from itertools import cycle, islice
from pathlib import Path

from cases import load_cases, save_cases
from llm.checksums import sealed
from wardround.config.experiment import Experiment
from wardround.config.selection import select
from wardround.run.runner import run_experiment
from wardround.store.manifest import read_manifest
from wardround.store.run_directory import RunDirectory

_PLAYED = 24  # cases


def write_cases(file: Path, number: int) -> None:
    """Write cases without pictures under new ids; a number in each complaint gives every case a different embedding."""
    plain = [case for case in load_cases() if not case.examinations.images]
    cases = []
    for place, case in enumerate(islice(cycle(plain), number)):
        complaint = {"chief_complaint": f"{case.patient.chief_complaint} ({place})"}
        patient = case.patient.model_copy(update=complaint)
        cases.append(case.model_copy(update={"id": f"{place:05}-{case.id}", "patient": patient}))
    save_cases(cases, file)


def write_finished_run(file: Path, out: Path) -> None:
    """Write the run directory of a whole case file: its first cases are played, and the others repeat them."""
    played = RunDirectory(out.with_name(f"{out.name}-played"))
    few, whole = (Experiment.model_validate({"data": {"cases": str(file), "limit": n}}) for n in (_PLAYED, None))
    asyncio.run(run_experiment(few, played.path))
    recorded = read_manifest(played.path / "manifest.json")
    played.run = recorded["run"]
    results = list(played.each_result())
    items = select(whole.data).items
    with (
        RunDirectory(out).opened(whole, items, {"memory": recorded["memory"]}) as directory,
        directory.results_file.open("w", encoding="utf-8") as lines,
    ):
        for item, result in zip(items, cycle(results), strict=False):
            lines.write(sealed(result.model_copy(update={"case_id": item.id, "run": directory.run})) + "\n")
            packed = (f"{one.trace_file(*key)}.gz" for one, key in ((played, result.key), (directory, (item.id, 0))))
            shutil.copyfile(*packed)
