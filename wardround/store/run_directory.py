"""The run directory: what was run, one durable line per case and epoch, every call, and the summary."""

import contextlib
import json
import logging
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from llm.checksums import unsealed
from llm.trace import kept_at, read_entry
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import StoredItem
from wardround.run.sweep import run_order
from wardround.store.durable_lines import (
    DAMAGED,
    Reader,
    append_sealed,
    drop_cut_line,
    keep_lines,
    mend_lines,
    only_writer,
    raw_lines,
    whole_lines,
    writing,
)
from wardround.store.manifest import (
    COPY,
    MANIFEST,
    is_run,
    manifest_of,
    mend_manifest,
    other_program,
    recorded_manifest,
    refuse_other_run,
    this_program,
    write_manifest,
)
from wardround.store.provenance import write_json
from wardround.store.result import Result, read_result
from wardround.store.traces import differing_by_letter_case, pack, packed_fault, trace_name, traces_in, unpack

_REPORT = "report.html"  # repeats the others, so it may be written anew
_WRITTEN = (  # what we write in a run directory, as patterns
    *(MANIFEST, COPY, "results.jsonl", "pseudo_cases.jsonl", "options.jsonl", "summary.json", "floors.json"),
    *("checkpoints.sqlite", "checkpoints.sqlite-*", "ratings.jsonl", _REPORT, ".*.part"),
    *("traces/*.jsonl*", "traces/.*.part", DAMAGED, f"{DAMAGED}/*", f"{DAMAGED}/traces/*"),
)
_AFTER_MANIFEST = ("summary.json", "floors.json", _REPORT, "options.jsonl", "checkpoints.sqlite")  # never without one
_KEY = re.compile(rb'\{"case_id":("(?:[^"\\]|\\.)*"),"epoch":(\d+)')

_log = logging.getLogger(__name__)

_ALIKE = ("models", "stages", "rounds")  # of a result: mostly as in the others


class RunDirectory:
    """The files of one run. Only one process writes them at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = ""  # the run's id, once it is known
        self.begun_by = ""  # the state of the program that began the run, if it was another
        self.traces = path / "traces"
        self.checkpoints = path / "checkpoints.sqlite"
        self.results_file = path / "results.jsonl"
        self._pseudo_cases = path / "pseudo_cases.jsonl"
        self._options = path / "options.jsonl"
        self._recorded: dict[tuple[str, int], Result] | None = None  # while opened: the results, without answers
        self._shared: dict[str, Any] = {}

    @contextlib.contextmanager
    def opened(
        self, experiment: Experiment, items: Sequence[StoredItem], beside: Mapping[str, Any] | None = None
    ) -> Iterator["RunDirectory"]:
        """Lock the directory for a run of this experiment; create it if missing, resume it if it holds the same run.

        ``beside`` has what the results depend on besides the experiment and its cases, for the manifest.

        Raises:
            ConfigurationError: another process runs here, or the directory holds another run; names the differences.
        """
        planned = {(item.id, epoch) for item in items for epoch in range(experiment.epochs)}
        self._manifest()  # refuses a folder of something else before a lock is left there
        with self.locked():
            self._check_ids([item.id for item in items])
            try:
                self._check_manifest(manifest_of(experiment, items, beside))
                self._recorded = {}
                self._warn(self.mend_records(planned))
                for file in self.trace_files():  # of a packed one, what a kill has left beside it, if anything
                    drop_cut_line(file)
            except OSError as error:
                raise ConfigurationError(f"{self.path}: cannot be written: {error.strerror or error}") from error
            try:
                yield self
            finally:
                self._recorded = None

    def check(
        self, experiment: Experiment, items: Sequence[StoredItem], beside: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse another run as `opened` does, but write and lock nothing."""
        if (before := self._manifest()) is not None:
            refuse_other_run(self.path, before, manifest_of(experiment, items, beside))

    @property
    def has_records(self) -> bool:
        """Whether there are results or traces, which need a manifest."""
        files = (self.results_file, self._pseudo_cases, *self.trace_files())
        return any(file.is_file() and file.stat().st_size for file in map(kept_at, files))

    def each_result(self, *, by_case: bool = False) -> Iterator[Result]:
        """Yield the results so far, without a last line that was cut off by a kill.

        Args:
            by_case: by case and epoch, instead of as the cases ended; the file is read twice.

        Raises:
            ConfigurationError: a line is damaged, or repeats a case.
        """
        seen: set[tuple[str, int]] = set()
        lines = enumerate(whole_lines(self.results_file), start=1)
        for number, line in self._by_case(lines) if by_case else lines:
            try:
                result = self.read_line(line, seen)
            except ValueError as error:
                message = f"{self.results_file}: line {number} {error}: {line[:80].decode(errors='replace')!r}"
                raise ConfigurationError(f"{message}; run `wardround doctor {self.path}` to repair it") from error
            seen.add(result.key)
            yield result

    def _by_case(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Yield the numbered lines of the results by case and epoch; only their places are held."""
        places, start = [], 0
        for number, line in lines:
            places.append((_key_of(line), number, start, len(line)))
            start += len(line) + 1
        if places:
            with self.results_file.open("rb") as file:
                for _, number, start, length in sorted(places):
                    file.seek(start)
                    yield number, file.read(length)

    def results(self) -> list[Result]:
        """Return the results so far without their answers, which make up most of them."""
        if self._recorded is not None:
            return list(self._recorded.values())
        return [one.without_answers() for one in self.each_result()]

    def resume(self, *, growing: bool = False, retry_failed: bool = False) -> set[tuple[str, int]]:
        """Return the finished cases (id, epoch), and remove the results of the others, which are tried again.

        Args:
            growing: whether each case leaves a pseudo-case; if a case's own is lost, it is run again, from its trace.
            retry_failed: whether to retry also cases that failed for good, or whose judges did.
        """
        recorded = self.results()
        finished = {result.key for result in recorded if result.is_kept(retry_failed=retry_failed)}
        if growing:
            completed = Counter(result.case_id for result in recorded if result.termination == "completed")
            without_course = completed - Counter(json.loads(course)["id"] for course in self.remembered())
            finished = {key for key in finished if key[0] not in without_course}
        with writing(self.path):
            if len(finished) < len(recorded):
                keep_lines(self.results_file, lambda _, line: read_result(line.decode()).key in finished)
            self._warn(self.mend_traces({trace_name(*key) for key in finished}))
        if self._recorded is not None:
            self._recorded = {result.key: result for result in recorded if result.key in finished}
        return finished

    def mend_records(self, planned: Collection[tuple[str, int]] | None = None, *, mend: bool = True) -> list[str]:
        """Move aside each line of the records that cannot be read or repeats another; return a description of each.

        If the run's ``planned`` cases are given, lines of other cases are moved aside too. Without ``mend``, nothing is
        written.

        Raises:
            OSError: a file cannot be read or written.
        """

        def result_key(line: str) -> tuple[str, int]:
            result = self.read_line(line.encode())
            key = result.key
            if planned is not None and key not in planned:
                raise ValueError(f"is for {key[0]}, epoch {key[1]}, which is not part of this run")
            if self._recorded is not None:
                self._recorded.setdefault(key, self._to_keep(result))
            return key

        readers: dict[Path, Reader] = {self.results_file: result_key}
        readers |= dict.fromkeys((self._pseudo_cases, self._options), _read_json)
        folder = self.path / DAMAGED if mend else None
        return [fault for file, read in readers.items() for fault in mend_lines(file, read, folder)]

    def mend_traces(self, but: Collection[str] = (), *, mend: bool = True) -> list[str]:
        """Unpack the traces and move aside each line that cannot be read; return a description of each.

        The calls of lost lines are asked again. Traces with names in ``but`` are left alone. Without ``mend``, nothing
        is written.
        """
        faults, folder = [], self.path / DAMAGED / "traces"
        for file in traces_in(self.traces, but):
            if fault := packed_fault(file):
                faults.append(fault)
            if fault and mend:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(kept_at(file), folder)
            if mend:
                unpack(file)
            faults += mend_lines(file, _read_entry, folder if mend else None)
        return faults

    def mend_packed(self, *, mend: bool) -> list[str]:
        """Do what `mend_traces` does to every trace but the packed ones that are whole: these stay packed."""
        whole = {file.name for file in self.trace_files() if kept_at(file) != file and not packed_fault(file)}
        return self.mend_traces(whole, mend=mend)

    def readable_results(self) -> Iterator[Result]:
        """Yield the results of all readable lines, skipping damaged ones."""
        for line in raw_lines(self.results_file):
            with contextlib.suppress(ValueError):
                yield read_result(line.decode())

    def read_line(self, line: bytes, seen: Collection[tuple[str, int]] = ()) -> Result:
        """Parse a result line of this run.

        Raises:
            ValueError: it cannot be read, its key is in ``seen``, or it is of another run.
        """
        try:
            result = read_result(line.decode())
        except UnicodeDecodeError:
            raise ValueError("is not UTF-8") from None
        if result.key in seen:
            raise ValueError("repeats an earlier line")
        if self.run and result.run not in ("", self.run):
            raise ValueError("belongs to another run")
        return result

    def _to_keep(self, result: Result) -> Result:
        """Return it without its answers, and with one object for what is equal in many results."""
        shared = {name: self._shared.setdefault(repr(each := getattr(result, name)), each) for name in _ALIKE}
        return result.without_answers().model_copy(update=shared)

    def _warn(self, faults: Sequence[str]) -> None:
        for fault in faults:
            _log.warning("%s; it was set aside in %s", fault, self.path / DAMAGED)

    def add(self, result: Result) -> None:
        """Append one result durably; the trace of a final case is packed."""
        with writing(self.path):
            program = this_program() if self.begun_by else ""
            append_sealed(self.results_file, result.model_copy(update={"run": self.run, "program": program}))
            if self._recorded is not None:
                self._recorded[result.key] = self._to_keep(result)
            if result.final:
                pack(self.trace_file(*result.key))

    def trace_file(self, case_id: str, epoch: int) -> Path:
        """Return the file for the calls of a case."""
        return self.traces / trace_name(case_id, epoch)

    def trace_files(self) -> list[Path]:
        """Return the trace files of every case that was started."""
        return traces_in(self.traces)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``, whole or not at all."""
        with writing(self.path):
            write_json(self.path / "summary.json", summary, indent=2)

    def remember(self, course: BaseModel) -> None:
        """Append a pseudo-case, so that a resumed run remembers what it learnt."""
        with writing(self.path):
            append_sealed(self._pseudo_cases, course)

    def remembered(self) -> list[str]:
        """Return the pseudo-cases recorded so far, as JSON."""
        return self._unsealed_lines(self._pseudo_cases)

    def options(self) -> list[str]:
        """Return the multiple-choice options recorded so far, one case each, as JSON."""
        return self._unsealed_lines(self._options)

    @contextlib.contextmanager
    def adding_options(self) -> Iterator[Callable[[BaseModel], None]]:
        """Lock the directory, to append options durably; existing ones are never rewritten.

        Raises:
            ConfigurationError: another process runs here, or nothing can be written here.
            RunStoppedError: it can no longer be written.
        """

        def add(options: BaseModel) -> None:
            with writing(self.path):
                append_sealed(self._options, options)

        with self.locked():
            with writing(self.path):
                drop_cut_line(self._options)
            yield add

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Lock the directory for writing.

        Raises:
            ConfigurationError: another process holds the lock, or the directory cannot be written.
        """
        taken = f"{self.path}: another process is using this directory; wait for it or choose another --out"
        return only_writer(self.path, "traces", _WRITTEN, ConfigurationError, taken)

    def _unsealed_lines(self, file: Path) -> list[str]:
        """Return the lines of a file, as JSON without checksums."""
        try:
            return [unsealed(line.decode()) for line in whole_lines(file)]
        except ValueError as error:
            raise ConfigurationError(
                f"{file}: a line {error}; run `wardround doctor {self.path}` to repair it"
            ) from error

    def _check_ids(self, ids: Iterable[str]) -> None:
        """Refuse ids whose traces would be one file: one is spelt like the other's, or in another letter case."""
        ignores_case = (self.path / ".LOCK").exists()  # which is `.lock` there, and held now
        for other, own in differing_by_letter_case(ids):
            both = f"the cases {other!r} and {own!r} would share a trace; rename one of them"
            if trace_name(other, 0) == trace_name(own, 0):
                raise ConfigurationError(f"--out {self.path}: {both}")
            if ignores_case:
                raise ConfigurationError(
                    f"--out {self.path}: this file system ignores letter case, so {both}, or choose an --out on "
                    "another file system"
                )

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        before = self._manifest()
        if before is None:
            # Pseudo-cases are filed under this id; a later run in the same place must not find them.
            self.run = manifest["run"] = uuid.uuid4().hex
            write_manifest(self.path, manifest)
            return
        self.run = before["run"]
        refuse_other_run(self.path, before, manifest)
        self.begun_by = other_program(before)
        self._warn(mend_manifest(self.path))

    def _manifest(self) -> dict[str, Any] | None:
        """Return the manifest of the run that is here; None if there is none yet.

        Raises:
            ConfigurationError: what is here is no run's, or its manifest cannot be read.
        """
        try:
            before = recorded_manifest(self.path)
        except ValueError as error:
            raise ConfigurationError(f"{error}; choose another --out") from error
        other = next((name for name in _AFTER_MANIFEST if (self.path / name).exists()), None)
        if before is not None and ((self.path / MANIFEST).is_file() or self.has_records or other):
            return before
        if self.has_records:
            raise ConfigurationError(
                f"{self.path}: has results but no {MANIFEST}; restore it from a copy, or choose another --out"
            )
        if run_order(self.path):
            raise ConfigurationError(f"{self.path}: has the runs of a sweep, which it would hide; choose another --out")
        if other:
            raise ConfigurationError(
                f"{self.path}: has a {other} but no {MANIFEST}, so no run wrote it; move it, or choose another --out"
            )
        here = self.path.absolute()  # `--out .` has no folder around it otherwise
        if is_run(here.parent) and here == RunDirectory(here.parent).traces:
            raise ConfigurationError(f"{self.path}: holds the traces of another run; choose another --out")
        return None


def _key_of(line: bytes) -> tuple[str, int]:
    """Return case and epoch of a result's line; of one that is not as we write them, nothing: it will be refused."""
    found = _KEY.match(line)
    return (json.loads(found[1]), int(found[2])) if found else ("", 0)


def is_of_run(file: Path) -> bool:
    """Whether a file is one that a run has written in its directory, other than its report."""
    file = file.resolve()
    return any(
        is_run(folder) and file.name != _REPORT and fnmatch(file.relative_to(folder).as_posix(), pattern)
        for folder in list(file.parents)[:3]
        for pattern in _WRITTEN
    )


def _read_json(line: str) -> None:
    unsealed(line)


def _read_entry(line: str) -> None:
    try:
        read_entry(line)
    except ValidationError as error:
        raise ValueError("is not a record of a call") from error
