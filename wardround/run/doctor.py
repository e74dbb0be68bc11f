"""A run directory looked through: what is damaged in it is set aside or mended, and told."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from llm.trace import kept_at
from scoring.suite import SUITES
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run.checkpoints import damaged_threads, drop_threads, mend_sqlite, sqlite_fault
from wardround.run.faults import fault
from wardround.store.durable_lines import DAMAGED
from wardround.store.manifest import COPY, MANIFEST, is_run, manifest_faults, mend_manifest, planned, recorded_manifest
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace, unpack

_FILES = (
    *(MANIFEST, COPY, "results.jsonl", "pseudo_cases.jsonl", "options.jsonl", "checkpoints.sqlite", "summary.json"),
    ".lock",
)
_SHOWN = 5  # cases that are named
_FACTS = ("attempted", "scored", "failed", "scores")  # of a summary, that the results alone tell


@dataclass
class Findings:
    """What was found in one run directory."""

    path: Path  # of the directory
    # what was damaged and no longer is; where it was only looked, what could be mended
    mended: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # what only its owner can mend


def find_damaged_runs(path: Path) -> list[RunDirectory]:
    """The runs of a directory, a run's own or a sweep's, whatever state they are in.

    Raises:
        ConfigurationError: there is none.
    """
    folders = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())] if path.is_dir() else []
    found = [RunDirectory(folder) for folder in folders if is_run(folder) or RunDirectory(folder).has_records]
    if not found:
        raise ConfigurationError(f"{path}: is not a run directory: it has neither {MANIFEST} nor results")
    return [run for run in found if run.path == path] or found


def examine(directory: RunDirectory, *, mend: bool) -> Findings:
    """Look through a run directory, and mend what can be, or only look.

    What is set aside lies in the folder ``damaged/`` of the directory, as it was found. A case whose result was set
    aside is run again by the same command as before, and answered from its trace as far as that is whole.

    Raises:
        ConfigurationError: another process is running here, or the directory cannot be written.
    """
    findings = Findings(directory.path)
    with _noting(findings):
        findings.mended += _clear(directory, mend)
    with directory.held() if mend else contextlib.nullcontext():
        for look in (_manifest, _records, _lost_results, _lost_traces, _checkpoints, _summary):
            if not mend and findings.mended and look not in (_manifest, _records, _lost_results):
                break  # they are held against the manifest and the results
            with _noting(findings):
                findings.mended += look(directory, mend)
    return findings


@contextlib.contextmanager
def _noting(findings: Findings) -> Iterator[None]:
    """Whatever cannot even be looked at is a finding: a damaged directory stops nobody from reading on."""
    try:
        yield
    except (OSError, ValueError, sqlite3.Error) as error:
        told = str(error)
    except Exception as error:
        told = f"{findings.path}: {fault(error)}"
    else:
        return
    if told not in findings.left:
        findings.left.append(told)


def _clear(directory: RunDirectory, mend: bool) -> list[str]:
    """Take away what stands in the place of a file or folder of ours and is none, as a link to nowhere."""
    path, folders = directory.path, (directory.path / DAMAGED, directory.traces)
    files = [*(path / name for name in _FILES), *path.glob(".*.part"), *directory.traces.glob("*.jsonl*")]
    wrong = {folder: "folder" for folder in folders if os.path.lexists(folder) and not folder.is_dir()}
    wrong |= {file: "file" for file in files if os.path.lexists(file) and not file.is_file()}
    if mend:
        for one in wrong:
            _set_aside(path, one)
    return [f"{one}: is not what it should be, a {kind}" for one, kind in wrong.items()]


def _set_aside(path: Path, file: Path) -> None:
    """Move a file or folder into the folder of what was damaged, beside what is there already."""
    aside = path / DAMAGED
    if file == aside:
        file = aside.replace(aside.with_suffix(".part"))
    aside.mkdir(exist_ok=True)
    names = (aside / f"{file.name}{(number and f'.{number}') or ''}" for number in count())
    file.replace(next(name for name in names if not name.exists()))


def _manifest(directory: RunDirectory, mend: bool) -> list[str]:
    if recorded_manifest(directory.path) is None:
        raise ValueError(f"{directory.path}: has no {MANIFEST}, so nobody knows what was run; put it back")
    faults = manifest_faults(directory.path)
    return mend_manifest(directory.path) if mend else [f"{file}: {why}" for file, why in faults.items()]


def _records(directory: RunDirectory, mend: bool) -> list[str]:
    """Lines of another run go, unless all are: then nobody knows whether they or the manifest lie in the wrong place.

    Raises:
        ValueError: all are.
    """
    directory.run = (recorded_manifest(directory.path) or {}).get("run", "")
    if directory.run and (runs := {result.run for result in directory.told()} - {""}) and directory.run not in runs:
        raise ValueError(f"{directory.path}: {MANIFEST} and the results are of two runs; put back what was there")
    return [*directory.mend_records(), *directory.mend_packed()] if mend else directory.damaged()


def _lost_results(directory: RunDirectory, mend: bool) -> list[str]:
    """A trace is packed when its result is kept: without one it is opened again, for the run to go on from."""
    told = {directory.trace_file(*result.key) for result in directory.told()}
    lost = [file for file in directory.trace_files() if kept_at(file) != file and file not in told]
    for file in lost if mend else ():
        unpack(file)
    does = "the same command as before scores them again, from their traces"
    return [f"{directory.results_file}: has no result of {_named(lost)}, which had ended; {does}"] if lost else []


def _lost_traces(directory: RunDirectory, mend: bool) -> list[str]:
    """What was asked of a finished case cannot be had again.

    Raises:
        ValueError: the traces that are gone, or hold less than was asked, and what can be done.
    """
    gone, cut, aside = [], [], directory.path / DAMAGED / directory.traces.name
    for result in directory.each_result():
        file = directory.trace_file(*result.key)
        if not result.final or any((aside / name).exists() for name in (file.name, f"{file.name}.gz")):
            continue  # it goes on, or has been told of
        if not kept_at(file).is_file():
            gone += [file] * result.scored
        elif result.calls and result.calls > read_trace(file).asked:
            cut.append(file)
    found = [
        f"{what} {_named(files)}"
        for what, files in {"have no": gone, "hold less than was asked of": cut}.items()
        if files
    ]
    if found:
        raise ValueError(
            f"{directory.traces}: {', and '.join(found)}; put them back from a copy, or go without: the scores stand, "
            "and what was asked is lost; a case whose line is taken out of results.jsonl is asked anew"
        )
    return []


def _named(files: Sequence[Path]) -> str:
    """Some cases by the names of their traces, the first few in full."""
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"{', '.join(file.stem for file in files[:_SHOWN])}{more}"


def _checkpoints(directory: RunDirectory, mend: bool) -> list[str]:
    file = directory.checkpoints
    if found := mend_sqlite(file) if mend else sqlite_fault(file):
        return [found]
    if not file.exists():
        return []
    damaged = damaged_threads(file)
    told = [f"{file}: a checkpoint of {thread} is not as it was written" for thread in sorted(damaged)]
    run = (recorded_manifest(directory.path) or {}).get("run")
    final = {f"{run}/{result.case_id}#{result.epoch}" for result in directory.each_result() if result.final}
    if mend:
        drop_threads(file, damaged | final)
    return told


def _summary(directory: RunDirectory, mend: bool) -> list[str]:
    """A summary that is not that of the results is made again; code of others is not run for it."""
    file, manifest = directory.path / "summary.json", recorded_manifest(directory.path)
    if manifest is None or not file.exists():
        return []
    made = None if manifest.get("plugins") else _summarised(directory, manifest)
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError):
        kept = None
    if isinstance(kept, dict) and (made is None or all(kept.get(fact) == made[fact] for fact in _FACTS)):
        return []
    if mend:
        _set_aside(directory.path, file)
        if made is not None:
            directory.write_summary(made)
    return [f"{file}: is not the summary of these results"]


def _summarised(directory: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The summary of a run that is done; None of one that is not, which makes it when it is, or of another version."""
    results = directory.results(answers=False)
    try:
        experiment = Experiment.model_validate(manifest["configuration"])
    except ValidationError:
        return None
    if len(results) < planned(manifest):
        return None
    summary = summarise_results(results, SUITES[experiment.scored_by]) | {"not_attempted": 0}
    return cast(dict[str, Any], json.loads(json.dumps(summary)))
