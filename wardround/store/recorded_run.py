"""Recorded runs, finished or not, as tables, reports and data frames read them."""

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from cases import Case, CaseFileError, Problem
from cases.files import BUILTIN
from cases.validation import in_a_line
from llm.blocks import block_of
from llm.specs import ModelSpec
from llm.trace import Call, Trace
from nodes.context import Context
from nodes.workflow.admission import as_played
from prompts import laid_over
from prompts.folders import is_laid_over
from scoring.consultation import ConsultationAnswers
from scoring.metrics.statistics import Estimate
from scoring.suite import SUITES, Suite
from wardround.analysis.summary import estimate_scores, failed_as_wrong, models_of
from wardround.config.experiment import ConfigurationError, Data, Experiment
from wardround.config.selection import Item, refuse_notes, select
from wardround.noted_plugins import why_foreign
from wardround.plugins import is_own, record_plugins
from wardround.printing import first_of
from wardround.run.sweep import run_order
from wardround.store.manifest import MANIFEST, is_run, manifest_of, other_program, planned, program_of, read_manifest
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordedRun:
    """A run directory opened for reading; what is expensive is read on first use."""

    name: str  # in tables: the name of the directory
    path: Path  # the run directory
    manifest: dict[str, Any]  # what its results depend on
    experiment: Experiment  # what was run

    @property
    def suite(self) -> Suite:
        """The suite that scored it."""
        return SUITES[self.experiment.scored_by]

    @property
    def id(self) -> str:
        """Its identity, which stays when the directory is renamed or copied."""
        return str(self.manifest["run"])

    @property
    def planned(self) -> int:
        """Number of cases in the whole run, counted once per epoch."""
        return planned(self.manifest)

    @property
    def _directory(self) -> RunDirectory:
        directory = RunDirectory(self.path)
        directory.run = self.id
        return directory

    @cached_property
    def results(self) -> list[Result]:
        """The results so far, by case and epoch, without their answers, which make up most of them."""
        found = sorted(self._directory.results(), key=lambda result: result.key)
        plugins = (self.manifest.get("plugins") or {}).values()  # if one has gone, `_warn_of_missing` has said so
        of_plugins = {name.removeprefix("metric ") for plugin in plugins for name in plugin["adds"]}
        known = {*self.suite.columns, *self.suite.parts, *of_plugins}
        if lost := sorted({name for result in found for name in result.scores} - known):
            _warn_once(
                f"{self.path}: read without {', '.join(lost)}, which a script had registered; load it with --plugin"
            )
        for program, cases in _programs_of(found).items():
            _warn_once(
                f"{self.path}: {program} ran {cases} of {len(found)} cases of this run, which "
                f"{program_of(self.manifest)} began; their rules may differ"
            )
        return found

    @property
    def other_programs(self) -> dict[str, int]:
        """Number of cases by the program that ran them, without the one that began the run."""
        return _programs_of(self.results)

    @property
    def scored(self) -> list[Result]:
        """The results whose answers could be scored."""
        return [result for result in self.results if result.scored]

    @property
    def failed(self) -> int:
        """Number of results without scores: their cases failed."""
        return len(self.results) - len(self.scored)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The mean of every score, as in the summary."""
        return estimate_scores(self.scored, self.suite)

    @cached_property
    def failed_as_wrong(self) -> dict[str, Estimate]:
        """The means with failed cases counted as wrong, as in the summary; empty if none failed."""
        return failed_as_wrong(self.results, self.suite)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the packages that it was begun with, without those that were not installed."""
        return {name: version for name, version in (self.manifest.get("versions") or {}).items() if version}

    @property
    def models(self) -> dict[str, list[str]]:
        """The models that answered, by role."""
        return models_of(self.results)

    def spec_of(self, model: str) -> ModelSpec:
        """Return provider, name and server of a model that answered, which may be called by its block."""
        return block_of(model, self.experiment.model).parsed

    @property
    def offline_roles(self) -> list[str]:
        """The roles that were answered by rules, not by a model."""
        return [role for role, names in self.models.items() if "offline" in names]

    def each_answered(self) -> Iterator[Result]:
        """Yield every result with its answers, by case and epoch, in whichever order the cases ended."""
        return self._directory.each_result(by_case=True)

    def each_dialogue(self) -> Iterator[tuple[Result, ConsultationAnswers]]:
        """Yield every result of a consultation that has a dialogue, with its answers."""
        for result in self.each_answered():
            if isinstance(result.answers, ConsultationAnswers) and result.answers.dialogue:
                yield result, result.answers

    def each_trace(self) -> Iterator[tuple[Path, Sequence[Call]]]:
        """Yield the calls of every case that was started, file by file; of a repeated call, its last record."""
        for file in self._directory.trace_files():
            yield file, read_trace(file).calls

    def trace_file(self, case_id: str, epoch: int) -> Path:
        """Return the trace file of a case in an epoch."""
        return self._directory.trace_file(case_id, epoch)

    def trace(self, result: Result) -> Trace:
        """Return the trace of a result: its calls and events."""
        return read_trace(self.trace_file(*result.key))

    @cached_property
    def items(self) -> dict[str, Item]:
        """The cases or notes by id, with one for every result.

        Raises:
            ConfigurationError: they have changed since the run, or a result is of none of them.
            CaseFileError: their file cannot be read.
        """
        if self._foreign:
            raise ConfigurationError(self._foreign)
        return self._items

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The cases by id, with one for every result.

        Raises:
            ConfigurationError: as for `items`, or the run is of notes.
            CaseFileError: the case file cannot be read.
        """
        refuse_notes(self.experiment.data)
        return _cases_in(self.items)

    def item_of(self, item_id: str, epoch: int) -> Item:
        """Return a note, or a case as it was played in an epoch; raises as `items` does."""
        item = self.items[item_id]
        return self.played(item, epoch) if isinstance(item, Case) else item

    def case_of(self, case_id: str, epoch: int) -> Case:
        """Return a case as it was played in an epoch; raises as `cases` does."""
        return self.played(self.cases[case_id], epoch)

    def played(self, case: Case, epoch: int) -> Case:
        """Return one of the cases as it was played in an epoch."""
        if "patient_sex" not in self.experiment.workflow:
            return case  # the context is not needed, and cannot be built where a model's folder has gone
        return as_played(case, self._context.in_epoch(epoch))

    @cached_property
    def _context(self) -> Context:
        return self.experiment.context

    @property
    def keys(self) -> Collection[tuple[str, int]]:
        """Case id and epoch of each result that the run can have.

        Raises:
            ConfigurationError: the cases or notes have changed since the run.
            CaseFileError: their file cannot be read.
        """
        return {(item, epoch) for item in self._items for epoch in range(self.experiment.epochs)}

    @cached_property
    def _items(self) -> dict[str, Item]:
        try:
            items = select(self.experiment.data).items
        except CaseFileError as error:
            remedy = "restore them, or if they are elsewhere, run this in the folder from which their path leads there"
            what = f"the run's cases: {error.problems[0]}; {remedy}"
            raise CaseFileError([Problem(str(self.path), "", "", what)]) from error
        if manifest_of(self.experiment, items)["data"] != self.manifest["data"]:
            source = self.experiment.data.source
            made = other_program(self.manifest)
            # The built-in cases belong to the program; a file of the user's may be as it was, and be read otherwise.
            restore = "" if source == BUILTIN and made else "restore them"
            remedies = filter(None, [restore, made and f"use the program of the run, {made}"])
            raise ConfigurationError(
                f"{self.path}: the cases have changed since the run ({source}); {', or '.join(remedies)}"
            )
        return {stored.id: stored.item for stored in items}

    @cached_property
    def _foreign(self) -> str:
        """What is wrong with the results of no case of the run; empty if there are none."""
        keys = self.keys
        for result in self.results:
            if result.key not in keys:
                return (
                    f"{self._directory.results_file}: the result for {result.case_id}, epoch {result.epoch}, is not "
                    f"part of this run; run `wardround doctor {self.path}` to move it aside"
                )
        return ""

    def known_cases(self) -> tuple[Mapping[str, Case], str]:
        """Return the cases by id, and why all are missing, or that of a result: of notes, changed, gone, or foreign."""
        try:
            refuse_notes(self.experiment.data)
            return _cases_in(self._items), self._foreign
        except (CaseFileError, ConfigurationError, OSError) as error:
            return {}, str(error)

    def tell_foreign(self) -> None:
        """Warn of a result of no case of the run, which counts nevertheless, as far as its cases are known."""
        with suppress(CaseFileError, ConfigurationError, OSError):  # gone, or changed since the run
            if self._foreign:
                _warn_once(self._foreign)

    def in_its_words(self) -> AbstractContextManager[None]:
        """Lay the run's own folder of prompts over ours, as it may hold a language, unless another one was named."""
        return nullcontext() if is_laid_over() else laid_over(self.experiment.prompts)


def _programs_of(results: Iterable[Result]) -> dict[str, int]:
    """Count results by the program that resumed the run for them; empty if the one that began it made all."""
    return dict(Counter(result.program for result in results if result.program))


def _cases_in(items: Mapping[str, Item]) -> dict[str, Case]:
    return {name: item for name, item in items.items() if isinstance(item, Case)}


def find_runs(paths: Sequence[Path]) -> list[RecordedRun]:
    """Return the runs in these directories (a run's or a sweep's own), a sweep's runs in its recorded order.

    Raises:
        ConfigurationError: a directory holds no run, or its manifest cannot be read.
    """
    directories = [directory for path in paths for directory in _run_directories(path)]
    places = {directory.resolve() for directory in directories}
    return [_open(directory, _name_of(directory.resolve(), places)) for directory in directories]


def _name_of(directory: Path, places: Collection[Path]) -> str:
    """Return a directory's name; if others have it too, with the folders in which it differs from them."""
    parents = [place.parent for place in places if place.name == directory.name]
    return directory.relative_to(os.path.commonpath(parents)).as_posix()


def find_run(path: Path) -> RecordedRun:
    """Return the only run of a directory (a run's or a sweep's own).

    Raises:
        ConfigurationError: it holds no run or several, or its run has no result yet.
    """
    runs = find_runs([path])
    if len(runs) > 1:
        listed = first_of([str(run.path) for run in runs])
        raise ConfigurationError(f"{path}: contains {len(runs)} runs; name one of them ({listed})")
    if not runs[0].results:
        raise ConfigurationError(f"{runs[0].path}: has no results yet; run it first")
    return runs[0]


def _run_directories(path: Path) -> list[Path]:
    if is_run(path):
        return [path]
    found = {folder.name: folder for folder in path.iterdir() if is_run(folder)} if path.is_dir() else {}
    if not found:
        beside = path.parent if path.parent.is_dir() and any(map(is_run, path.parent.iterdir())) else None
        raise ConfigurationError(
            f"{path}: is not a run directory: neither it nor a folder in it has a {MANIFEST}"
            + (f"; for all runs in {beside}, name that folder" if beside else "")
        )
    order = [name for name in run_order(path) if name in found]
    return [found[name] for name in [*order, *sorted(found.keys() - set(order))]]


def _open(path: Path, name: str) -> RecordedRun:
    try:
        manifest = read_manifest(path / MANIFEST)
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path}: {MANIFEST} cannot be read ({error}); run `wardround doctor {path}` to repair it"
        ) from error
    experiment = _experiment_of(path, manifest)
    return RecordedRun(
        name, path, manifest, experiment.model_copy(update={"data": _with_moved_files(path, experiment.data)})
    )


def _with_moved_files(path: Path, data: Data) -> Data:
    """Return the data with files that do not lie where the run named them, but beside it or in a folder above it."""

    def now_at(name: str) -> str:
        if name == BUILTIN or Path(name).exists():
            return name
        return next((str(near) for folder in path.resolve().parents if (near := folder / name).is_file()), name)

    notes = [now_at(name) for name in data.notes] if isinstance(data.notes, list) else data.notes and now_at(data.notes)
    terms = data.terms and now_at(data.terms)
    return data.model_copy(update={"cases": now_at(data.cases), "notes": notes, "terms": terms})


def _experiment_of(path: Path, manifest: Mapping[str, Any]) -> Experiment:
    """Return what was run; plug-ins and prompts that have gone are missed only where a setting names what they add.

    Plug-ins that the user has never loaded are not loaded here either: whoever wrote the run directory names them.
    """
    named = manifest["configuration"].get("plugins")
    foreign = [name for name in named if not is_own(str(name))] if isinstance(named, list) else []
    reason = why_foreign(foreign[0]) if foreign else ""
    gone: dict[str, Any]
    for gone in ({}, {"plugins": []}, {"prompts": None}, {"plugins": [], "prompts": None}):
        if foreign and "plugins" not in gone:
            continue
        try:
            experiment = Experiment.model_validate({**manifest["configuration"], **gone})
            _ = experiment.context  # names patient, strategy and language, which may have gone too
        except ValueError as error:
            reason = reason or in_a_line(error)
        else:
            _warn_of_missing(path, manifest, gone, f" ({reason})" if reason else "")
            return experiment
    option = {"plugins": "--plugin", "prompts": "--prompts"}.get(reason.partition(":")[0])
    elsewhere = f"; if it lies elsewhere now, name it with {option}" if option else ""
    if not (named or option) and (lost := _lost(manifest)):  # installed packages and scripts, which no setting names
        added = ", ".join(each for adds in lost.values() for each in adds)
        raise ConfigurationError(
            f"{path}: {added} of {', '.join(lost)} is not loaded: install it again, or name its file with --plugin; "
            f"without it, this version cannot use {MANIFEST} ({reason})"
        )
    if not elsewhere and (made := other_program(manifest)):
        elsewhere = f"; use the program of the run, {made}"
    raise ConfigurationError(f"{path}: this version cannot use {MANIFEST} ({reason}){elsewhere}")


def _lost(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what plug-ins added to a run and no loaded one adds now, perhaps from a file of another name."""
    recorded = {name: plugin["adds"] for name, plugin in (manifest.get("plugins") or {}).items()}
    added = {each for plugin in _loaded(manifest).values() for each in plugin["adds"]}
    missing = {name: [each for each in adds if each not in added] for name, adds in recorded.items()}
    return {name: lost for name, lost in missing.items() if lost}


def _loaded(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loaded plug-ins, and what a script has registered of what plug-ins and scripts added to a run."""
    plugins: Mapping[str, Any] = manifest.get("plugins") or {}
    return record_plugins({each for plugin in plugins.values() for each in plugin["adds"]}) or {}


def _warn_of_missing(path: Path, manifest: Mapping[str, Any], gone: Mapping[str, Any], why: str) -> None:
    """Say what a run is read without: its prompts, what plug-ins added, and what they computed before they changed."""
    if "prompts" in gone and not is_laid_over():
        _warn_once(f"{path}: read without its own prompts{why}")
    lost, loaded = _lost(manifest), _loaded(manifest).values()
    for name, recorded in (manifest.get("plugins") or {}).items():
        if name in lost:
            why_lost = why if "plugins" in gone else ""
            _warn_once(f"{path}: read without what plug-in {name} added, {', '.join(lost[name])}{why_lost}")
        elif recorded["adds"] and recorded["sha256"] not in {plugin["sha256"] for plugin in loaded}:
            _warn_once(f"{path}: plug-in {name} has changed since the run; what it computes now may differ")


@cache
def _warn_once(what: str) -> None:
    _log.warning("%s", what)
