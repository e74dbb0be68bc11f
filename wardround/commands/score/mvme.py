"""``wardround score mvme``: the five parts of a report, as the medical director graded them or grades them now."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.score.output import JsonOption, Mode, ModeOption, Scores, refuse, refuse_records, show
from wardround.commands.score.reports import (
    JudgeOption,
    ReferenceOption,
    ReportCase,
    ReportSource,
    ask_each,
    judge_settings,
    read_report_cases,
    reports_of_run,
)

if TYPE_CHECKING:
    from llm import ModelSettings
    from scoring.metrics.statistics import Estimate
    from scoring.mvme.grades import Option
    from scoring.mvme.judges import Misdiagnosis, MvmeGrades
    from scoring.mvme.transcripts import Part

    Grades = Mapping[Part, Option | None]

SOME_FAILED = 1


def mvme(
    source: ReportSource,
    reference: ReferenceOption = None,
    grade: Annotated[
        bool, typer.Option("--grade", help="Have the director grade the reports; reads no grades of SRC.")
    ] = False,
    error_types: Annotated[
        bool, typer.Option("--error-types", help="Sort the diagnoses graded D by what went wrong.")
    ] = False,
    judge: JudgeOption = "offline",
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
) -> None:
    """Mean grade (1 to 4) of each part that was graded, with bootstrap intervals (AI Hospital, table 2).

    Sound: a missing or unclear option is left out. Paper: it counts 1. What is asked anew is asked
    of the model named with --judge, or of an offline rule that compares words.
    """
    settings = judge_settings(judge)
    failures: list[str] = []
    by_doctor: dict[str, list[Grades]] = {}
    graded: list[tuple[ReportCase, Grades]]
    if grade:
        cases = read_report_cases(source, reference)
        answers, failures = ask_each(cases, lambda case: _ask_director(case, settings))
        graded = [(case, answer.options) for case, answer in zip(cases, answers, strict=True) if answer is not None]
        by_doctor[""] = [options for _, options in graded]
    elif not source.is_dir():
        graded = _released(source, mode, by_doctor)
    metrics = _metrics(by_doctor, mode)
    if source.is_dir() and not grade:
        graded, metrics = _recorded(source, mode)
    if error_types:
        lowest = [case for case, options in graded if options.get("diagnosis") == "D"]
        found, failed = ask_each(lowest, lambda case: _ask_why(case, settings))
        metrics |= _shares(found)
        failures += failed
    scores = Scores("mvme", mode, len(graded), metrics)
    if failures:
        note = f"{len(failures)} questions had no answer and are left out ({failures[0]})."
        scores = dataclasses.replace(scores, notes=[note])
    show(scores, json_file)
    if failures:
        raise typer.Exit(SOME_FAILED)


def _released(source: Path, mode: Mode, by_doctor: "dict[str, list[Grades]]") -> "list[tuple[ReportCase, Grades]]":
    """The grades of an evaluation file; each doctor's also into ``by_doctor``."""
    from scoring.mvme.grades import released_grades
    from scoring.mvme.transcripts import Evaluation, kind_of, read_evaluations

    if kind_of(source) not in (Evaluation, None):
        refuse(f"{source}: holds reports without grades; expected evaluations, or --grade to have the reports graded")
    reading = read_evaluations(source)
    refuse_records(reading.errors)
    grades = [released_grades(record, published=mode is Mode.PAPER) for record in reading.records]
    for record, options in zip(reading.records, grades, strict=True):
        by_doctor.setdefault(record.doctor_name, []).append(options)
    return list(zip(read_report_cases(source, None), grades, strict=True))


def _recorded(directory: Path, mode: Mode) -> "tuple[list[tuple[ReportCase, Grades]], dict[str, Estimate]]":
    """The grades that the director gave in a run of ours; epochs of a case are one case to the intervals."""
    from scoring.metrics.statistics import estimate
    from scoring.mvme.grades import LOWEST, SCORES
    from scoring.mvme.suite import NO_KEY
    from scoring.mvme.transcripts import PARTS
    from wardround.commands.score.recorded import open_recorded

    run = open_recorded(directory)
    if run.suite.name != "mvme":
        refuse(f"{directory}: was scored by {run.suite.name}; expected mvme, or --grade to have the reports graded")
    option_of = {float(score): option for option, score in SCORES.items()}
    graded: list[tuple[ReportCase, Grades]] = []
    values: dict[Part, list[tuple[float, str]]] = {part: [] for part in PARTS}
    for case, result in reports_of_run(run):
        given = {part: result.scores.get(part) for part in PARTS if result.unscored.get(part) != NO_KEY}
        graded.append((case, {part: None if score is None else option_of[score] for part, score in given.items()}))
        for part, score in given.items():
            values[part].append((float(SCORES[LOWEST]) if score is None else score, case.case_id))
    if mode is Mode.SOUND:
        return graded, run.estimates
    return graded, {
        part: estimate((score for score, _ in scored), (case for _, case in scored)) for part, scored in values.items()
    }


def _metrics(by_doctor: "Mapping[str, Sequence[Grades]]", mode: Mode) -> "dict[str, Estimate]":
    """The parts by name; under the doctor's name too if there are several."""
    from scoring.mvme.grades import score_parts

    named = {doctor: score_parts(grades, published=mode is Mode.PAPER) for doctor, grades in by_doctor.items()}
    return {
        f"{doctor}: {part}" if len(named) > 1 else part: found
        for doctor, parts in named.items()
        for part, found in parts.items()
    }


def _shares(found: "Sequence[Misdiagnosis | None]") -> "dict[str, Estimate]":
    """The share of each error type among the diagnoses graded lowest (AI Hospital, table 5)."""
    from scoring.metrics.statistics import estimate
    from scoring.mvme.judges import ERROR_TYPES

    types = [answer.type for answer in found if answer is not None]
    return {name: estimate(float(type_ == name) for type_ in types) for name in ERROR_TYPES}


async def _ask_director(case: ReportCase, settings: "ModelSettings") -> "MvmeGrades":
    from scoring.mvme.judges import ReportParts, grade

    return await grade(ReportParts(**case.report), ReportParts(**case.reference), settings, case.language, case.case_id)


async def _ask_why(case: ReportCase, settings: "ModelSettings") -> "Misdiagnosis":
    from scoring.mvme.judges import ReportParts, misdiagnosis

    report, reference = ReportParts(**case.report), ReportParts(**case.reference)
    return await misdiagnosis(report, reference, settings, case.language, case.case_id)
