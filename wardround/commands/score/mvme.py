"""``wardround score mvme``: the grades of reports (AI Hospital, table 2)."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from llm.specs import OFFLINE
from scoring.asking import ask_each
from scoring.metrics.samples import Definition, over_cases
from scoring.metrics.statistics import Estimate, estimate
from scoring.mvme import judges
from scoring.mvme.grades import ENDS, LOWEST, SCORES, Option, released_grades, score_parts
from scoring.mvme.judges import ERROR_TYPES, Misdiagnosis
from scoring.mvme.suite import NOT_TO_GRADE, best_grades
from scoring.mvme.transcripts import PARTS, Evaluation, Part, kind_of, read_evaluations
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, as_wrong_table, asked_of_rules, unanswered
from wardround.commands.score.report_cases import (
    ReferenceOption,
    ReportCase,
    ReportSource,
    count_reports,
    failed_reports,
    read_report_cases,
    report_cases_of_file,
    reports_of_run,
    run_of_reports,
)
from wardround.commands.score.rescored import KeysOption, keys_of
from wardround.commands.score.transcripts import JudgeOption, checked_models, read_files
from wardround.printing import first_of
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun
from wardround.tables.scores import failed_notes, judge_notes

Grades = Mapping[Part, Option | None]
Graded = list[tuple[ReportCase, Grades]]


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
    cases: KeysOption = None,
) -> Scores:
    """Score reports by grades 1 to 4 (AI Hospital, table 2).

    Each of the five parts is scored. A missing or unclear grade is left out in sound mode, and counts as 1 in paper
    mode. New judgements are made by the model given with --judge, or offline by a rule that compares statements.
    """
    if judge != OFFLINE and not (grade or error_types):
        refuse(f"--judge {judge}: nobody would be asked; add --grade to grade the reports anew, or --error-types")
    for option, file in (("--reference", reference), ("--cases", cases)):
        if file and not grade:
            refuse(f"{option} {file}: nothing is compared with it; add --grade to grade the reports anew")
    settings = checked_models({"default": judge})
    failures: list[tuple[ReportCase, str]] = []
    tables: list[ExtraTable] = []
    run = run_of_reports(source, cases)
    key_notes, keys = keys_of(run)
    notes = [*key_notes, *failed_notes([run] if run else [])]
    notes += asked_of_rules(("--judge", judge)) if grade or error_types else []

    async def ask_director(case: ReportCase) -> Grades:
        return await best_grades(*case.both, case.plans, settings, case.language, case.case_id, copied=case.copied)

    async def ask_why(case: ReportCase) -> Misdiagnosis:
        return await judges.misdiagnosis(*case.both, settings, case.language, case.case_id)

    if grade:
        answers, failures = run_alone(ask_each, read_report_cases(source, reference, run), ask_director)
        graded: Graded = answers
        metrics = _means_over_cases(graded, mode)
        failed = [*(case for case, _ in failures), *(failed_reports(run) if run else ())]
        wrong: Graded = [
            (case, {part: LOWEST for part in PARTS if part in metrics and case.has(part)}) for case in failed
        ]
        if wrong and mode == "sound":
            tables = as_wrong_table(_means_over_cases([*graded, *wrong], mode))
        if silent := [case.case_id for case, _ in graded if not any(case.report.values())]:
            notes.append(f"{len(silent)} of {len(graded)} reports have no part, and are graded D: {first_of(silent)}.")
    elif run:
        graded, metrics = _recorded_grades(run, mode)
        tables = as_wrong_table(run.failed_as_wrong) if mode == "sound" else []
        notes = list(dict.fromkeys([*judge_notes([run]), *notes]))
    else:
        graded, metrics = _released_grades(source, mode)
        notes += _unclear([options for _, options in graded], mode)
    if error_types:
        lowest = [case for case, options in graded if options.get("diagnosis") == "D"]
        found, unexplained = run_alone(ask_each, lowest, ask_why)
        metrics |= {
            name: over_cases(((case.case_id, float(why.type == name)) for case, why in found), (0.0, 1.0))
            for name in ERROR_TYPES
        }
        failures = [*failures, *unexplained]
    notes += unanswered([reason for _, reason in failures])
    n, more = count_reports(run, [case for case, _ in graded])
    return Scores("mvme", mode, n, metrics, tables, notes, failed=bool(failures), more=more, keys=keys)


def _released_grades(source: Path, mode: Definition) -> tuple[Graded, dict[str, Estimate]]:
    """Return the grades in an evaluation file, and the means by part, under the doctor's name if there are several."""
    if kind_of(source) not in (Evaluation, None):
        refuse(f"{source}: contains reports without grades; expected evaluations, or add --grade to grade the reports")
    published = mode == "paper"
    by_doctor: dict[str, list[Grades]] = {}
    grades: list[Grades] = []
    for record in read_files(read_evaluations, [source])[0]:
        grades.append(released_grades(record, published=published))
        by_doctor.setdefault(record.doctor_name, []).append(grades[-1])
    means = {
        f"{doctor}: {part}" if len(by_doctor) > 1 else part: found
        for doctor, given in by_doctor.items()
        for part, found in score_parts(given, published=published).items()
    }
    return list(zip(report_cases_of_file(source, None), grades, strict=True)), means


def _unclear(grades: list[Grades], mode: Definition) -> list[str]:
    """Return a note of how many grades of each part are missing or no single option, if any."""
    count = Counter(part for options in grades for part, option in options.items() if option is None)
    parts = ", ".join(f"{part} {count[part]}" for part in PARTS if count[part])
    how = "Left out" if mode == "sound" else f"Counted as {SCORES[LOWEST]}"
    return [f"{how}, as the file gives no one option: {parts}."] if parts else []


def _recorded_grades(run: RecordedRun, mode: Definition) -> tuple[Graded, dict[str, Estimate]]:
    """Return the grades that the director gave in one of our runs; for intervals, the epochs of a case are one case."""
    if run.suite.name != "mvme":
        refuse(f"{run.path}: was scored by suite {run.suite.name}, not mvme; add --grade to grade the reports")
    option_of = {float(score): option for option, score in SCORES.items()}
    graded: Graded = []
    values: dict[Part, list[tuple[float, str]]] = {part: [] for part in PARTS}
    for case, result in reports_of_run(run):
        given = {part: result.scores.get(part) for part in PARTS if result.unscored.get(part) not in NOT_TO_GRADE}
        graded.append((case, {part: None if score is None else option_of[score] for part, score in given.items()}))
        for part, score in given.items():
            values[part].append((float(SCORES[LOWEST]) if score is None else score, case.case_id))
    if mode == "sound":
        return graded, run.estimates
    return graded, {
        part: estimate(*zip(*scored, strict=True), ends=ENDS, published=True) if scored else Estimate(n=0)
        for part, scored in values.items()
    }


def _means_over_cases(graded: Graded, mode: Definition) -> dict[str, Estimate]:
    """Return the means by part; the epochs of a case count as one for the intervals."""
    cases, grades = [case.case_id for case, _ in graded], [options for _, options in graded]
    means = score_parts(grades, published=mode == "paper", cases=cases)
    return {str(part): found for part, found in means.items()}
