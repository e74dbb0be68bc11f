"""Check a run directory: repair or move aside what is damaged, and report it."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from cases import CaseFileError
from cases.readable import unpiped
from llm.trace import kept_at
from scoring.suite import SUITES
from wardround.analysis.summary import summarise_results
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run.checkpoints import damaged_threads, drop_threads, mend_sqlite, sqlite_fault
from wardround.run.faults import describe_fault
from wardround.store.durable_lines import DAMAGED
from wardround.store.manifest import COPY, MANIFEST, is_run, mend_manifest, planned, recorded_manifest
from wardround.store.recorded_run import find_runs
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace, unpack

_FILES = (
    *(MANIFEST, COPY, "results.jsonl", "pseudo_cases.jsonl", "options.jsonl", "checkpoints.sqlite", "summary.json"),
    ".lock",
)
_NAMED_AT_MOST = 5  # cases named in a message
_COUNTS = ("attempted", "scored", "failed")  # of a summary: what depends on the results alone, besides the means


@dataclass
class Findings:
    """What was found in one run directory."""

    path: Path  # of the directory
    # damage that was repaired or, if only looking, that could be
    mended: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # damage that only the owner can repair


def find_damaged_runs(path: Path) -> list[RunDirectory]:
    """Return the runs of a directory (a run's or a sweep's own), in whatever state they are.

    Raises:
        ConfigurationError: there is none.
    """
    folders = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())] if path.is_dir() else []
    found = [RunDirectory(folder) for folder in folders if is_run(folder) or RunDirectory(folder).has_records]
    if not found:
        raise ConfigurationError(f"{path}: is not a run directory: it has neither {MANIFEST} nor results")
    return [run for run in found if run.path == path] or found


def examine(directory: RunDirectory, *, mend: bool) -> Findings:
    """Check a run directory and, if ``mend``, repair what can be repaired.

    Damaged files are moved as they are to the folder ``damaged/`` of the directory. A case whose result was moved is
    run again by the same command as before, and answered from its trace as far as that is whole.

    Raises:
        ConfigurationError: another process is running here, or the directory cannot be written.
    """
    findings = Findings(directory.path)
    with _noting_errors(findings):
        findings.mended += _misplaced(directory, mend)
    with directory.locked() if mend else contextlib.nullcontext():
        for look in (_manifest, _records, _lost_results, _lost_traces, _checkpoints, _summary):
            if not mend and findings.mended and look not in (_manifest, _records, _lost_results):
                break  # the other checks rely on the manifest and the results
            with _noting_errors(findings):
                findings.mended += look(directory, mend)
    return findings


@contextlib.contextmanager
def _noting_errors(findings: Findings) -> Iterator[None]:
    """Record any error as a finding, so that a check which fails does not stop the others."""
    try:
        yield
    except sqlite3.Error as error:
        file = RunDirectory(findings.path).checkpoints
        problem = f"{file}: {error}; see that it and its folder can be written, and that no other program holds it"
    except (OSError, ValueError) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{findings.path}: {describe_fault(error)}"
    else:
        return
    if problem not in findings.left:
        findings.left.append(problem)


def _misplaced(directory: RunDirectory, mend: bool) -> list[str]:
    """Find (and move aside) what is not the file or folder that its name should be, such as a dangling link."""
    path, folders = directory.path, (directory.path / DAMAGED, directory.traces)
    files = [*(path / name for name in _FILES), *path.glob(".*.part"), *directory.traces.glob("*.jsonl*")]
    wrong = {folder: "folder" for folder in folders if os.path.lexists(folder) and not folder.is_dir()}
    wrong |= {path / DAMAGED: "folder"} if (path / DAMAGED).is_symlink() else {}
    wrong |= {file: "file" for file in files if os.path.lexists(file) and not file.is_file()}
    if mend:
        for one in wrong:
            _set_aside(path, one)
    return [f"{one}: should be a {kind}, but is not" for one, kind in wrong.items()]


def _set_aside(path: Path, file: Path) -> None:
    """Move a file or folder into the damage folder, under a name that is free there."""
    aside = path / DAMAGED
    if file == aside:
        file = aside.replace(aside.with_suffix(".part"))
    aside.mkdir(exist_ok=True)
    names = (aside / f"{file.name}{(number and f'.{number}') or ''}" for number in count())
    file.replace(next(name for name in names if not name.exists()))


def _manifest(directory: RunDirectory, mend: bool) -> list[str]:
    if recorded_manifest(directory.path) is None:
        raise ValueError(f"{directory.path}: {MANIFEST} is missing, so what was run is unknown; restore it from a copy")
    return mend_manifest(directory.path, mend=mend)


def _records(directory: RunDirectory, mend: bool) -> list[str]:
    """Remove lines of another run, unless all lines are: then either they or the manifest may be misplaced.

    Raises:
        ValueError: all lines are of another run.
    """
    directory.run = (recorded_manifest(directory.path) or {}).get("run", "")
    runs = {result.run for result in directory.readable_results()} - {""} if directory.run else set()
    if runs and directory.run not in runs:
        raise ValueError(f"{directory.path}: {MANIFEST} and the results belong to two runs; restore the original files")
    return [*directory.mend_records(_planned(directory.path), mend=mend), *directory.mend_packed(mend=mend)]


def _planned(path: Path) -> Collection[tuple[str, int]] | None:
    """Return the cases and epochs of a run; None if they cannot be known, as its cases have changed or gone."""
    try:
        (run,) = find_runs([path])
        return run.keys
    except (CaseFileError, ConfigurationError, OSError):
        return None


def _lost_results(directory: RunDirectory, mend: bool) -> list[str]:
    """Find packed traces that have no result, and unpack them so that the run can resume from them."""
    with_result = {directory.trace_file(*result.key) for result in directory.readable_results()}
    lost = [file for file in directory.trace_files() if kept_at(file) != file and file not in with_result]
    for file in lost if mend else ():
        unpack(file)
    does = "the same command again scores them from their traces"
    return [f"{directory.results_file}: no result for {_named_cases(lost)}, which had ended; {does}"] if lost else []


def _lost_traces(directory: RunDirectory, mend: bool) -> list[str]:
    """Find finished cases whose traces are gone or too short, which cannot be repaired.

    Raises:
        ValueError: names those traces and what can be done.
    """
    gone, cut, damaged = [], [], directory.path / DAMAGED / directory.traces.name
    for result in directory.each_result():
        file = directory.trace_file(*result.key)
        if not result.final or any((damaged / name).exists() for name in (file.name, f"{file.name}.gz")):
            continue  # it will be resumed, or was reported already
        if not kept_at(file).is_file():
            gone += [file] * result.scored
        elif result.misses_of(read_trace(file).calls):
            cut.append(file)
    found = [
        f"{what} {_named_cases(files)}"
        for what, files in {"no traces of": gone, "incomplete traces of": cut}.items()
        if files
    ]
    if found:
        raise ValueError(
            f"{directory.traces}: {' and '.join(found)}; restore them from a copy, or go on without: the scores "
            "remain, but the calls are lost (to run a case again, delete its line in results.jsonl)"
        )
    return []


def _named_cases(files: Sequence[Path]) -> str:
    """Join the names of some traces, the first few in full."""
    more = f" and {len(files) - _NAMED_AT_MOST} more" if len(files) > _NAMED_AT_MOST else ""
    return f"{', '.join(file.stem for file in files[:_NAMED_AT_MOST])}{more}"


def _checkpoints(directory: RunDirectory, mend: bool) -> list[str]:
    file = directory.checkpoints
    if found := mend_sqlite(file) if mend else sqlite_fault(file):
        return [found]
    if not file.exists():
        return []
    damaged = damaged_threads(file)
    problems = [f"{file}: damaged checkpoint of {thread}: the checksum differs" for thread in sorted(damaged)]
    run = (recorded_manifest(directory.path) or {}).get("run")
    final = {f"{run}/{result.case_id}#{result.epoch}" for result in directory.each_result() if result.final}
    if mend:
        drop_threads(file, damaged | final)
    return problems


def _summary(directory: RunDirectory, mend: bool) -> list[str]:
    """Rewrite a summary that does not match the results; not for a run with plug-ins, whose code is not run here."""
    file, manifest = directory.path / "summary.json", recorded_manifest(directory.path)
    if manifest is None or not file.exists():
        return []
    plugins = manifest.get("plugins") or manifest["configuration"].get("plugins")
    fresh = None if plugins else _summarised(directory, manifest)
    try:
        written = json.loads(unpiped(file).read_text("utf-8"))
    except (ValueError, RecursionError):
        written = None
    if isinstance(written, dict) and (fresh is None or _agree(written, fresh)):
        return []
    if mend:
        _set_aside(directory.path, file)
        if fresh is not None:
            directory.write_summary(fresh)
    return [f"{file}: does not match the results"]


def _agree(written: Mapping[str, Any], fresh: Mapping[str, Any]) -> bool:
    """Whether two summaries count the same, with the same means; an earlier version had other intervals or columns."""
    then, now = written.get("scores"), fresh["scores"]
    if any(written.get(count) != fresh[count] for count in _COUNTS) or not isinstance(then, dict):
        return False
    if bool(then) != bool(now) or not then.keys() <= now.keys():
        return False
    return all(
        isinstance(then[name], dict) and then[name].get(part) == now[name][part]
        for name in then
        for part in ("mean", "n")
    )


def _summarised(directory: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Summarise a finished run; None if it is unfinished, or its configuration is of another version."""
    results = directory.results()
    try:
        experiment = Experiment.model_validate(manifest["configuration"])
    except ValidationError:
        return None
    if len(results) < planned(manifest):
        return None
    summary = summarise_results(results, SUITES[experiment.scored_by]) | {"not_attempted": 0}
    return cast(dict[str, Any], json.loads(json.dumps(summary)))
