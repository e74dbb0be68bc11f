"""The runs shown by the viewer: found in folders, and read on request as far as they are written."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from cases import Case
from llm.replies import texts_in
from llm.trace import kept_at, trace_lines
from wardround.config.experiment import ConfigurationError
from wardround.report.case_sections import CaseSection, case_section
from wardround.report.trace_findings import TraceFindings
from wardround.store.manifest import COPY, MANIFEST, is_run
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory
from wardround.store.run_index import Key, RunIndex
from wardround.store.traces import read_trace

_DEPTH = 4  # levels searched below the given folders
_PATIENCE = 2.0  # that a page waits for slow work; the next request continues it


@dataclass(frozen=True)
class RunSoFar(RecordedRun):
    """A run with the results that it had when it was read."""

    found: tuple[Result, ...] = ()

    @cached_property
    def results(self) -> list[Result]:
        """The results by case and epoch, without their answers."""
        return sorted(self.found, key=lambda result: result.key)


class ViewedRun:
    """One run in the viewer."""

    def __init__(self, run: RecordedRun, name: str) -> None:
        self.name = name
        self.findings = TraceFindings()
        self._index = RunIndex(RunDirectory(run.path))
        self._index.directory.run = run.manifest["run"]
        # The first keeps the cases. It has no results, so it also knows them beside results that cannot be read.
        self._run = self._so_far = RunSoFar(name, run.path, run.manifest, run.experiment)
        self._traces_read: set[Key] = set()
        self._texts: dict[str, str] = {}
        self._lock = threading.RLock()

    @property
    def run(self) -> RecordedRun:
        """The run with its results so far.

        Raises:
            OSError: they cannot be read.
        """
        with self._lock:
            if self._index.read_on():
                self._so_far = replace(self._so_far, found=tuple(self._index.results.values()))
            return self._so_far

    @property
    def faults(self) -> list[str]:
        """The lines of the results that cannot be read."""
        return self._index.faults

    def cases(self) -> tuple[Mapping[str, Case], str]:
        """Return the cases by id, and why they cannot be shown, if so."""
        with self._lock:
            return self._run.known_cases()

    def section(self, key: Key) -> CaseSection:
        """Return one case in full; of an unfinished case, what is recorded so far.

        Raises:
            KeyError: the run has no such case.
        """
        run, (cases, _) = self.run, self.cases()
        if key in self._index.results:
            result = self._index.answered(key)
        else:
            result = Result(case_id=key[0], epoch=key[1], termination="not_ended")
            if not kept_at(run.trace_file(*key)).is_file():
                raise KeyError(key)
        return case_section(run, result, cases.get(key[0]), "case")

    def stamp(self, key: Key | None = None) -> str:
        """Return a stamp that changes when a page on the run, or on one of its cases, would."""
        run = self.run
        parts = [len(run.results), len(self.faults)]
        if key is not None:
            file = kept_at(run.trace_file(*key))
            parts.append(file.stat().st_size if file.is_file() else 0)
        return "-".join(map(str, parts))

    def search(self, words: Sequence[str], *, in_calls: bool) -> tuple[set[Key], int]:
        """Return the cases that contain all words (case-insensitive), and the number of cases not searched in time.

        ``in_calls`` also searches every prompt and answer, which is slow.
        """
        run, (cases, _), until = self.run, self.cases(), time.monotonic() + _PATIENCE
        found, unsearched = set[Key](), 0
        for key, text in self._index.each_text():
            all_text = f"{text.lower()}\n{self._case_text(cases.get(key[0]))}"
            missing = [word for word in words if word not in all_text]
            if missing and in_calls:
                if time.monotonic() > until:
                    unsearched += 1
                    continue
                missing = [word for word in missing if word not in _in_trace(run.trace_file(*key), missing)]
            if not missing:
                found.add(key)
        return found, unsearched

    def go_on(self) -> int:
        """Read more traces of ended cases, for a limited time; return how many are left."""
        with self._lock:
            run, until = self.run, time.monotonic() + _PATIENCE
            left = [result for result in run.results if result.key not in self._traces_read]
            for index, result in enumerate(left):
                if time.monotonic() > until:
                    return len(left) - index
                file = run.trace_file(*result.key)
                self.findings.add(file.stem, read_trace(file).calls)
                self._traces_read.add(result.key)
            return 0

    def _case_text(self, case: Case | None) -> str:
        if case is None:
            return ""
        if case.id not in self._texts:
            self._texts[case.id] = "\n".join(texts_in(case.model_dump(mode="json"))).lower()
        return self._texts[case.id]


@dataclass
class Shelf:
    """All runs in some folders."""

    roots: Sequence[Path]  # each a run, a sweep, or a folder of these
    runs: dict[str, ViewedRun] = field(default_factory=dict)  # by the name that addresses them
    not_runs: dict[str, str] = field(default_factory=dict)  # folders that hold no readable run, with the reason
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Find new runs, and drop those that are gone."""
        with self._lock:
            found: dict[str, ViewedRun] = {}
            self.not_runs = {}
            base = Path(os.path.commonpath([root.resolve() for root in self.roots]))
            for root in self.roots:
                for folder in _folders(root):
                    name = folder.resolve().relative_to(base).as_posix().removeprefix(".") or base.name
                    if not is_run(folder):
                        self.not_runs[name] = f"{folder}: is not a run directory: it has no {MANIFEST}"
                        continue
                    try:
                        (run,) = find_runs([folder])
                    except (ConfigurationError, OSError) as error:
                        self.not_runs[name] = str(error)
                        continue
                    known = self.runs.get(name)
                    found[name] = known if known and known.run.manifest == run.manifest else ViewedRun(run, name)
            self.runs = found


def _folders(root: Path) -> Iterator[Path]:
    """Yield the run directories at and below a folder, and its direct subfolders that contain none."""
    if is_run(root):
        yield root
        return
    for first in sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".")):
        runs_below = list(_runs_below(first))
        yield from runs_below or [first]


def _runs_below(folder: Path) -> Iterator[Path]:
    for folder_path, inner, files in os.walk(folder):
        path = Path(folder_path)
        run = MANIFEST in files or COPY in files
        if run:
            yield path
        if run or len(path.relative_to(folder).parts) >= _DEPTH - 1:
            inner.clear()
        inner[:] = sorted(name for name in inner if not name.startswith("."))


def _in_trace(file: Path, words: Sequence[str]) -> str:
    """Return the texts of a trace in lower case; empty if it cannot contain all words."""
    raw = "".join(trace_lines(file)).lower()
    if not all(json.dumps(word, ensure_ascii=False)[1:-1] in raw for word in words):
        return ""
    calls = read_trace(file).calls
    return "\n".join(text for call in calls for text in texts_in([call.messages or [], call.answer])).lower()
