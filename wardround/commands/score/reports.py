"""Read the reports to score, with the expert's parts as reference, from the authors' files or from one of our runs."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from cases import Problem
from cases.text.words import language_of
from cases.vocabulary import Language
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.mvme.suite import COPIED
from scoring.mvme.transcripts import PARTS, Part, read_references, read_reports, sections
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import refuse_records
from wardround.store.recorded_run import RecordedRun, find_run
from wardround.store.run_directory import Result

ReportSource = Annotated[
    Path,
    typer.Argument(
        metavar="SRC",
        help="File of AI Hospital (evaluations, one-step outputs, dialogues or collaborations), or run directory.",
    ),
]
ReferenceOption = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="File with the expert's parts, if SRC has none: AI Hospital's records, or evaluations of the same cases.",
    ),
]


@dataclass(frozen=True)
class ReportCase:
    """One report, and the expert's parts for the same case."""

    case_id: str
    report: dict[Part, str]
    reference: dict[Part, str]
    text: str = field(default="", repr=False)
    written_in: Language | None = None
    copied: Collection[str] = ()  # parts that the doctor copied from the disclosed record, so that nobody grades them

    @property
    def language(self) -> Language:
        """The language of the case; guessed from the reference if unknown."""
        return self.written_in or language_of(*self.reference.values())


def read_report_cases(source: Path, reference: Path | None) -> list[ReportCase]:
    """Read every case of the source with its reference; exits if a record is faulty or has no reference."""
    return _cases_of_run(source) if source.is_dir() else _cases_of_file(source, reference)


def _cases_of_file(source: Path, reference: Path | None) -> list[ReportCase]:
    reading = read_reports(source)
    references, problems = read_references(reference) if reference else ({}, [])
    refuse_records([*reading.errors, *problems])
    if reference is None and any(report.reference is None for report in reading.records):
        refuse(f"{source}: the records have no reference; give a file that has them with --reference")
    cases, without_reference = [], []
    for report in reading.records:
        expert = references.get(report.patient_id, report.reference)
        if expert is None:
            message = f"has no reference in {reference}; expected one for every patient"
            without_reference.append(Problem(str(source), f"patient {report.patient_id}", "patient_id", message))
            continue
        parts: dict[Part, str] = {part: getattr(expert, part) or "" for part in PARTS}
        cases.append(ReportCase(report.patient_id, sections(report.report), parts, report.report))
    refuse_records(without_reference)
    return cases


def _cases_of_run(directory: Path) -> list[ReportCase]:
    """Return the answers of a finished run with their answer keys, each epoch as a case of its own."""
    cases = [case for case, _ in reports_of_run(find_run(directory)) if case.reference["diagnosis"]]
    if not cases:
        refuse(f"{directory}: no finished case has both answers and a diagnosis to compare with")
    return cases


def reports_of_run(run: RecordedRun) -> list[tuple[ReportCase, Result]]:
    """Return the answers of every scored case: all five parts of a consultation's report, or a workflow's diagnoses."""
    found = []
    for result in run.each_answered():
        if not result.scored:
            continue
        case, answers = run.cases[result.case_id], result.answers
        reference_report = reference_parts(case)
        copied: Collection[str] = ()
        if isinstance(answers, ConsultationAnswers):
            report_text = report_parts(answers.report) if answers.report else None
            report: dict[Part, str] = {part: report_text[part] if report_text else "" for part in PARTS}
            reference: dict[Part, str] = {part: reference_report[part] for part in PARTS}
            copied = COPIED if answers.disclosed else ()
        else:
            report = {"diagnosis": "\n".join(answers.diagnosis if answers else [])}
            reference = {"diagnosis": reference_report["diagnosis"]}
        found.append((ReportCase(result.case_id, report, reference, written_in=case.language, copied=copied), result))
    return found
