"""``wardround score mvme``: score the five parts of a report by the medical director's grades, recorded or new."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import anyio
import typer

from scoring.asking import ask_each
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import Estimate, estimate
from scoring.mvme import judges
from scoring.mvme.grades import ENDS, LOWEST, SCORES, Option, released_grades, score_parts
from scoring.mvme.judges import ERROR_TYPES, Misdiagnosis, MvmeGrades, ReportParts
from scoring.mvme.suite import NOT_TO_GRADE
from scoring.mvme.transcripts import PARTS, Evaluation, Part, kind_of, read_evaluations
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ModeOption, Scores, unanswered
from wardround.commands.score.reports import (
    ReferenceOption,
    ReportCase,
    ReportSource,
    read_report_cases,
    reports_of_run,
)
from wardround.commands.score.transcripts import JudgeOption, asking, read_files
from wardround.store.recorded_run import find_run

Grades = Mapping[Part, Option | None]


def mvme(
    source: ReportSource,
    reference: ReferenceOption = None,
    grade: Annotated[
        bool, typer.Option("--grade", help="Have the director grade the reports, ignoring any grades in SRC.")
    ] = False,
    error_types: Annotated[
        bool, typer.Option("--error-types", help="Classify the diagnoses graded D by type of error.")
    ] = False,
    judge: JudgeOption = "offline",
    mode: ModeOption = "sound",
) -> Scores:
    """Score reports by grades 1 to 4 (AI Hospital, table 2).

    Each of the five parts is scored. A missing or unclear grade is left out in sound mode, and counts as 1 in paper
    mode. New judgements are made by the model given with --judge, or offline by a rule that compares words.
    """
    settings = asking({"default": judge})
    failures: list[tuple[ReportCase, str]] = []

    async def ask_director(case: ReportCase) -> MvmeGrades:
        report, expert = ReportParts(**case.report), ReportParts(**case.reference)
        return await judges.grade(report, expert, settings, case.language, case.case_id)

    async def ask_why(case: ReportCase) -> Misdiagnosis:
        report, expert = ReportParts(**case.report), ReportParts(**case.reference)
        return await judges.misdiagnosis(report, expert, settings, case.language, case.case_id)

    if grade:
        answers, failures = anyio.run(ask_each, read_report_cases(source, reference), ask_director)
        graded: list[tuple[ReportCase, Grades]] = [
            (case, {part: option for part, option in answer.options.items() if part not in case.copied})
            for case, answer in answers
        ]
        metrics = _metrics({"": [options for _, options in graded]}, mode)
    elif source.is_dir():
        graded, metrics = _recorded(source, mode)
    else:
        graded, metrics = _released(source, mode)
    if error_types:
        lowest = [case for case, options in graded if options.get("diagnosis") == "D"]
        found, failed = anyio.run(ask_each, lowest, ask_why)
        metrics |= {
            name: estimate((float(why.type == name) for _, why in found), ends=(0.0, 1.0)) for name in ERROR_TYPES
        }
        failures = [*failures, *failed]
    notes = unanswered([reason for _, reason in failures])
    return Scores("mvme", mode, len(graded), metrics, notes=notes, failed=bool(failures))


def _released(source: Path, mode: Definition) -> tuple[list[tuple[ReportCase, Grades]], dict[str, Estimate]]:
    """Return the grades in an evaluation file."""
    if kind_of(source) not in (Evaluation, None):
        refuse(f"{source}: contains reports without grades; expected evaluations, or add --grade to grade the reports")
    by_doctor: dict[str, list[Grades]] = {}
    grades: list[Grades] = []
    for record in read_files(read_evaluations, [source])[0]:
        grades.append(released_grades(record, published=mode == "paper"))
        by_doctor.setdefault(record.doctor_name, []).append(grades[-1])
    return list(zip(read_report_cases(source, None), grades, strict=True)), _metrics(by_doctor, mode)


def _recorded(directory: Path, mode: Definition) -> tuple[list[tuple[ReportCase, Grades]], dict[str, Estimate]]:
    """Return the grades that the director gave in one of our runs; for intervals, the epochs of a case are one case."""
    run = find_run(directory)
    if run.suite.name != "mvme":
        refuse(f"{directory}: was scored by suite {run.suite.name}, not mvme; add --grade to grade the reports")
    option_of = {float(score): option for option, score in SCORES.items()}
    graded: list[tuple[ReportCase, Grades]] = []
    values: dict[Part, list[tuple[float, str]]] = {part: [] for part in PARTS}
    for case, result in reports_of_run(run):
        given = {part: result.scores.get(part) for part in PARTS if result.unscored.get(part) not in NOT_TO_GRADE}
        graded.append((case, {part: None if score is None else option_of[score] for part, score in given.items()}))
        for part, score in given.items():
            values[part].append((float(SCORES[LOWEST]) if score is None else score, case.case_id))
    if mode == "sound":
        return graded, run.estimates
    return graded, {
        part: estimate((score for score, _ in scored), (case for _, case in scored), ends=ENDS, published=True)
        for part, scored in values.items()
    }


def _metrics(by_doctor: Mapping[str, list[Grades]], mode: Definition) -> dict[str, Estimate]:
    """Return the means by part, prefixed with the doctor's name if there are several."""
    scores_by_doctor = {doctor: score_parts(grades, published=mode == "paper") for doctor, grades in by_doctor.items()}
    return {
        f"{doctor}: {part}" if len(scores_by_doctor) > 1 else part: found
        for doctor, parts in scores_by_doctor.items()
        for part, found in parts.items()
    }
