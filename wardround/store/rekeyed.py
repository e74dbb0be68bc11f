"""A recorded run with the answer keys of another file, as where labels were corrected after it was paid."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cases import Case
from cases.files import each_case
from llm.checksums import digest
from nodes.context import Context
from wardround.config.experiment import ConfigurationError
from wardround.config.sections import leaves
from wardround.config.selection import Item
from wardround.printing import counted, first_of
from wardround.store.recorded_run import RecordedRun, find_run

# What each stage is told of the earlier ones without a sequence (`reference_of` in nodes/workflow/admission.py).
_WITHOUT_SEQUENCE = {
    *("urgency", "department", "sub_departments", "examination_items", "imaging_reports"),
    *("diagnosis", "diagnosis_basis"),
}


@dataclass(frozen=True)
class RekeyedRun(RecordedRun):
    """A run whose recorded answers are scored by the keys of a file."""

    file: str
    rekeyed: Mapping[str, Case]  # the cases of the results, with its keys
    changed: list[str] | None  # those with another key than in the run; None if its own cases are not known
    unknown: str  # why not

    @cached_property
    def items(self) -> dict[str, Item]:
        """The cases of the results by id, with the keys of the file."""
        return {**self.rekeyed}

    @property
    def keys_told(self) -> dict[str, Any]:
        """The file, and the ids of the cases with another key than in the run, None if that is not known."""
        return {"file": self.file, "changed": self.changed}

    @property
    def note(self) -> str:
        """By which keys the scores are, and how many differ from the run's."""
        by = f"Scored by the keys of {self.file}"
        if self.changed is None:
            return f"{by}. Whether its records are those that were played could not be checked: {self.unknown}."
        cases = counted(len(self.rekeyed), "case")
        return f"{by}: {len(self.changed)} of {cases} with another key than in the run."


def run_to_score(path: Path, cases: str | Path | None = None) -> RecordedRun:
    """Return the only run of a directory, with the keys of a file of its cases, if one is given.

    Raises:
        ConfigurationError: no run, it has no cases with keys, or the file lacks a case or has another record of it.
        CaseFileError: the file cannot be read.
    """
    run = find_run(path)
    if cases is None:
        return run
    if run.experiment.graph == "reconstruction":
        raise ConfigurationError(
            f"{run.path}: reconstructs dialogues from whole notes, which no answer key scores; score it without cases"
        )
    own, unknown = run.known_cases()
    if own and unknown:  # a result of no case
        raise ConfigurationError(unknown)
    ids = {result.case_id for result in run.results}
    rekeyed = {case.id: case for case in each_case(cases) if case.id in ids}
    if missing := sorted(ids - rekeyed.keys()):
        lacking = f"{counted(len(missing), 'case')} of {run.path} ({first_of(missing)})"
        raise ConfigurationError(f"{cases}: lacks {lacking}; add them with their keys")
    changed = None
    if own:
        _refuse_other_records(run, own, rekeyed, str(cases))
        rekeyed = {name: _with_key_of(case, own[name]) for name, case in rekeyed.items()}
        changed = [name for name, case in rekeyed.items() if _reference(case) != _reference(own[name])]
    return RekeyedRun(run.name, run.path, run.manifest, run.experiment, str(cases), rekeyed, changed, unknown)


def _refuse_other_records(run: RecordedRun, own: Mapping[str, Case], rekeyed: Mapping[str, Case], file: str) -> None:
    """Do nothing if all that was played is the same in the run's own cases and those of a file.

    Raises:
        ConfigurationError: a field differs; it names the first.
    """
    shown = _shown_parts(run.experiment.context)
    for name, case in rekeyed.items():
        was, now = _played(own[name], shown), _played(case, shown)
        if different := [field for field in {**was, **now} if was.get(field) != now.get(field)]:
            raise ConfigurationError(
                f"{file}: case {name}: {different[0]} is not what was played in {run.path}; restore it from the "
                f"run's cases ({run.experiment.data.source}), or run the case anew"
            )


def _shown_parts(context: Context) -> set[str]:
    """Return the parts of the answer key that the run's settings show in play."""
    if not context.sequential:
        return _WITHOUT_SEQUENCE
    return {"imaging_reports"} if context.pictures_in_dialogue == "report" else set()


def _played(case: Case, shown: set[str]) -> dict[str, Any]:
    """Return what a run depends on in a case, by field; of pictures their content, as copies are renamed."""
    record = case.model_dump(exclude={"key", "provenance", "split"}) | {"key": case.key.model_dump(include=shown)}
    record["examinations"]["images"] = [
        (image.item, image.name, digest(Path(case.folder, image.file).read_bytes()))
        for image in case.examinations.images
    ]
    return {".".join(place): value for place, value in leaves(record)}


def _with_key_of(other: Case, case: Case) -> Case:
    """Return a case with the reference of another one of the same record, whose pictures may have other names."""
    pairs = zip(other.examinations.images, case.examinations.images, strict=True)
    key = other.key.with_renamed((theirs.file, own.file) for theirs, own in pairs)
    return case.model_copy(update={"key": key, "provenance": other.provenance})


def _reference(case: Case) -> tuple[Any, ...]:
    """Return what a case is scored by: its key, with the report of each picture, and the source's own words."""
    key = case.key.model_copy(update={"picture_reports": {}})
    reports = [case.report_of(image.item, image.file) for image in case.examinations.images]
    return key, reports, case.provenance.record, case.provenance.sections
