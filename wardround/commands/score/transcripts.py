"""What the score commands share: their options, reading files and runs, and the settings of models."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar

from typer import Argument, Option

from cases.grouping import grouped
from llm import ModelSettings, ModelSpecError
from llm.blocks import ModelBlock
from llm.specs import HUMAN, check_models
from scoring.aie.transcripts import AieTranscript
from scoring.human_scores import read_human_scores, unknown_cases
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.samples import Sample, Samples, case_means, case_of
from scoring.metrics.text_overlap import rouge_1, words
from scoring.records import Reading
from wardround.analysis.rescoring import settings_of_judges
from wardround.analysis.transcripts import Format, read_transcripts
from wardround.commands.exit_codes import refuse
from wardround.commands.options import separated
from wardround.commands.score.compared import compared
from wardround.commands.score.output import ExtraTable, refuse_records
from wardround.printing import counted, echo, first_of
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result
from wardround.tables.scores import failed_notes

_WARNINGS_SHOWN = 20
_SAME_PATIENT = 0.7  # share of the words of the shorter record
Model = TypeVar("Model")

Transcripts = Annotated[
    list[Path], Argument(metavar="TRANSCRIPTS", help="Transcript files to score as one set, or a run directory.")
]
Against = Annotated[
    list[Path] | None,
    Option(metavar="FILE", help="Also compare with these transcripts, case by case; may be repeated."),
]
JudgeOption = Annotated[
    str, Option(metavar="SPEC", help="Model that judges: offline (rules), or provider:model[@base_url].")
]
HumanScores = Annotated[
    Path | None,
    Option(
        metavar="CSV",
        help="Correlate with people's scores: a CSV file with a column 'case', then one column per score.",
    ),
]
Diagnose = Annotated[
    str | None,
    Option(
        metavar="SPEC",
        help="Have this model choose a diagnosis among each case's options, from the dialogue alone; 'doctor' means "
        "each run's own doctor.",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    Option(metavar="ID", help="Leave out the case with this id; may be repeated, or several ids separated by commas."),
]


Played = AieTranscript | MedPmcTranscript
Dialogue = TypeVar("Dialogue", bound=Played)


def by_either_name(files: Iterable[Iterable[Played]]) -> dict[str, str]:
    """Map each unambiguous name to its case: the number in the authors' files, or the id in a run."""
    cases_by_name: dict[str, set[str]] = {}
    for records in files:
        for one in records:
            for name in (one.id, one.case):
                cases_by_name.setdefault(name, set()).add(one.case)
    return {name: next(iter(cases)) for name, cases in cases_by_name.items() if len(cases) == 1}


def pairing(named: Mapping[str, Sequence[Played]]) -> list[str]:
    """Return a note on cases that do not pair among files and runs.

    Raises:
        Refusal: nothing pairs, or a number belongs to two patients: records that share less than 70 % of their words
            (the same record, split into sections and joined again, shares 90 %).
    """
    found = grouped((one.case, (name, words(one.findings))) for name, records in named.items() for one in records)
    for case, first, second in _different_patients(found):
        remedy = "give files of one data set"
        refuse(f"case {case}: {first} and {second} have different patients under this number; {remedy}")
    unpaired = [f"{case} ({entries[0][0]})" for case, entries in found.items() if len(dict(entries)) == 1]
    if len(unpaired) == len(found):
        examples = " and ".join(f"{name} has {records[0].case}" for name, records in [*named.items()][:2] if records)
        refuse(
            f"no case in common: {examples}; a run can be compared with the authors' files if its cases were imported "
            "with `wardround cases import`"
        )
    shown = ", ".join(unpaired[:3]) + (", ..." if len(unpaired) > 3 else "")
    return [f"{len(unpaired)} of {len(found)} cases have no counterpart and are left out: {shown}."] if unpaired else []


def _different_patients(found: Mapping[str, Sequence[tuple[str, list[str]]]]) -> Iterator[tuple[str, str, str]]:
    """Yield each case whose records, given as words with the names of their files, are of two patients."""
    for case, ((first, first_words), *others) in found.items():
        for name, text in others:
            if text != first_words and max(rouge_1(text, first_words)) < _SAME_PATIENT:
                yield case, first, name
                break


def _warn_of_namesakes(paths: Sequence[Path], files: Sequence[Sequence[Played]]) -> None:
    """Warn of different patients under one number, in one set of files: they would be epochs of one case."""
    found = grouped(
        (case_of(one.case), (str(path), words(one.findings)))
        for path, records in zip(paths, files, strict=True)
        for one in records
    )
    if namesakes := [*_different_patients(found)]:
        cases, (_, first, second) = first_of([case for case, *_ in namesakes]), namesakes[0]
        where = first if first == second else f"{first} and {second}"
        echo(
            f"warning: {where}: different patients have the same number ({cases}) and count as epochs of one case; "
            "give them ids of their own",
            err=True,
        )


def without(
    files: list[list[Model]],
    ids: Sequence[str] | None,
    name: Callable[[Model], str],
    others: Mapping[str, str] = MappingProxyType({}),
) -> list[list[Model]]:
    """Return the records of each file without the given cases; exits if a case is in no file.

    Each entry of ``ids`` may contain several, separated by commas; ``others`` maps other names of records to their ids.
    """
    left_out = {others.get(one, one) for one in separated(ids)}
    if unknown := sorted(left_out - {name(record) for records in files for record in records}):
        refuse(f"--leave-out {unknown[0]}: no such case in these files")
    remaining = [[record for record in records if name(record) not in left_out] for records in files]
    if left_out and not any(remaining):
        refuse("--leave-out: no case remains to be scored")
    return remaining


def checked_models(
    models: Mapping[str, str], option: str = "--judge", recorded: Mapping[str, ModelBlock] = MappingProxyType({})
) -> ModelSettings:
    """Return settings with these models, or ``recorded`` blocks; exits if one cannot be used, or is a person."""
    if HUMAN in models.values():
        refuse(f"{option} {HUMAN}: a person cannot answer here; name a model or 'offline'")
    given = settings_of_judges(models, recorded)
    try:
        check_models(models, given.get("model", ()))
        settings = ModelSettings.model_validate(given)
        settings.check_folders()
    except ModelSpecError as error:
        refuse(f"{option}: {error}")
    return settings


def read_files(read: Callable[[Path], Reading[Any]], paths: Sequence[Path]) -> list[list[Any]]:
    """Read the records of each file.

    Raises:
        Refusal: a record cannot be used; every fault is named.
    """
    readings = [read(path) for path in paths]
    refuse_records([problem for reading in readings for problem in reading.errors])
    warnings = [problem for reading in readings for problem in reading.warnings]
    for warning in warnings[:_WARNINGS_SHOWN]:
        echo(f"warning: {warning}", err=True)
    if len(warnings) > _WARNINGS_SHOWN:
        echo(f"... and {len(warnings) - _WARNINGS_SHOWN} more warnings", err=True)
    return [reading.records for reading in readings]


def read_played(paths: Sequence[Path], format: Format, *, played: bool = True) -> list[list[Any]]:
    """Read the dialogues of each file or run; exits if they must be played and none is.

    Cases that were not played, as an interrupted run leaves them among the others, count as wrong, with a warning.
    """
    files = read_files(lambda path: read_transcripts(path, format), paths)
    _warn_of_namesakes(paths, files)
    for path, cases in zip(paths, files, strict=True) if played else ():
        if cases and not any(case.history or getattr(case, "report", "") for case in cases):
            refuse(
                f"{path}: no dialogue to score, as no case has a history; to import cases, use `wardround cases import`"
            )
        if unplayed := [case.id for case in cases if not case.played]:
            remedy = "" if path.is_dir() else "; remove them from the file if nobody played them"
            echo(
                f"warning: {path}: {len(unplayed)} of {len(cases)} dialogues hold no words of the doctor after the "
                f"opening ({first_of(unplayed)}), and count as wrong{remedy}",
                err=True,
            )
    return files


def each_doctor(paths: Sequence[Path]) -> tuple[dict[str, Path], list[RecordedRun]]:
    """Return the files and the runs of sweeps by unique names, and the runs."""
    runs = find_runs([path for path in paths if path.is_dir()])  # all at once, so that their names are unique
    found: list[tuple[str, Path]] = []
    remaining_runs = iter(runs)
    for path, name in zip(paths, names_of(paths), strict=True):
        runs_of_path = islice(remaining_runs, len(find_runs([path]))) if path.is_dir() else ()
        found += [(run.name, run.path) for run in runs_of_path] or [(name, path)]
    names = [name for name, _ in found]
    path_of = {
        name if place == names.index(name) else f"{name} ({place + 1})": path
        for place, (name, path) in enumerate(found)
    }
    return path_of, runs


def failed_results(run: RecordedRun) -> list[Result]:
    """Return the results of the cases that failed; those that were refused for the patient's sex did not."""
    return [result for result in run.results if not (result.scored or result.refused)]


def failed_against(paths: Sequence[Path] | None) -> list[str]:
    """Note how many cases of each run of --against failed; it may have the name of one that is scored."""
    return [f"--against {note}" for note in failed_notes(each_doctor(paths or ())[1])]


def counts(consultations: Collection[str], what: str = "dialogue") -> tuple[int, list[str]]:
    """Return the number of cases in the ids of consultations, and what there is of each, in words if it differs."""
    cases = len(set(map(case_of, consultations)))
    return cases, [counted(len(consultations), what)] if len(consultations) != cases else []


@dataclass(frozen=True)
class Scored(Generic[Dialogue]):
    """Files and runs with their scores: the dialogues of each, and their values by metric."""

    files: Sequence[list[Dialogue]]
    parts: Sequence[Samples]

    @property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues of all files."""
        return [one for records in self.files for one in records]

    @property
    def samples(self) -> dict[str, list[Sample]]:
        """The values of all files as one set."""
        return {name: [sample for part in self.parts for sample in part[name]] for name in self.parts[0]}

    def minus(self, others: "Scored[Dialogue]", notes: list[str]) -> ExtraTable:
        """Return the differences to other transcripts, paired by case; notes what does not pair or is identical."""
        notes += pairing({"here": self.dialogues, "--against": others.dialogues})
        theirs = grouped((one.case, [*one.history]) for one in others.dialogues)
        if identical := sum([*one.history] in theirs.get(one.case, ()) for one in self.dialogues):
            notes.append(f"{identical} of {len(self.dialogues)} dialogues are identical in --against.")
        return compared(self.samples, others.samples)


def names_of(files: Sequence[Path]) -> list[str]:
    """Return the files' names, with the folder's if two are equal."""
    stems = [file.stem for file in files]
    return [file.stem if stems.count(file.stem) == 1 else f"{file.parent.name}/{file.stem}" for file in files]


def judgements_of(human: Path | None, files: Sequence[Sequence[Played]]) -> dict[str, dict[str, float]]:
    """Return people's scores in a CSV file by case, over its epochs; exits if the file has none of the cases here."""
    if human is None:
        return {}
    scores, problems = read_human_scores(human)
    refuse_records(problems)
    names, here = by_either_name(files), {case_of(one.case) for records in files for one in records}
    judged_cases = {
        f"people: {name}": [Sample(names.get(case, case), value) for case, value in values.items()]
        for name, values in scores.items()
    }
    judged = {case_of(one.case) for values in judged_cases.values() for one in values}
    if judged and not judged & here:
        refuse(f"{human}: case {min(judged)}: not among the scored cases, such as {min(here)}")
    if unknown := unknown_cases(human, judged, here):
        echo(unknown, err=True)
    return {name: case_means(values) for name, values in judged_cases.items()}
