"""The reports to score and their reference parts, from files or from one of our runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from cases import Problem
from cases.text.words import language_of
from cases.vocabulary import Language
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.mvme.transcripts import PARTS, Part, read_references, read_reports, sections
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import refuse_records
from wardround.store.recorded_run import RecordedRun, find_run
from wardround.store.run_directory import Result

ReportSource = Annotated[
    Path,
    typer.Argument(
        metavar="SRC",
        help="Evaluations, one-step outputs, dialogues or collaborations of AI Hospital, or a run directory.",
    ),
]
ReferenceOption = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="Where the expert's parts stand if SRC has none: AI Hospital's records, or evaluations of the same cases.",
    ),
]


@dataclass(frozen=True)
class ReportCase:
    """A report, and the expert's parts for the same case."""

    case_id: str
    report: dict[Part, str]
    reference: dict[Part, str]
    text: str = field(default="", repr=False)
    written_in: Language | None = None

    @property
    def language(self) -> Language:
        """The language of the case; if not recorded, guessed from the reference."""
        return self.written_in or language_of(*self.reference.values())


def read_report_cases(source: Path, reference: Path | None) -> list[ReportCase]:
    """Read every case with its reference; ends the command if a record is invalid or has no reference."""
    return _cases_of_run(source) if source.is_dir() else _cases_of_file(source, reference)


def _cases_of_file(source: Path, reference: Path | None) -> list[ReportCase]:
    reading = read_reports(source)
    references, problems = read_references(reference) if reference else ({}, [])
    refuse_records([*reading.errors, *problems])
    if reference is None and any(report.reference is None for report in reading.records):
        refuse(f"{source}: the records hold no reference; name a file that does with --reference")
    cases, missing = [], []
    for report in reading.records:
        expert = references.get(report.patient_id, report.reference)
        if expert is None:
            message = f"has no reference in {reference}; expected one for every patient"
            missing.append(Problem(str(source), f"patient {report.patient_id}", "patient_id", message))
            continue
        parts: dict[Part, str] = {part: getattr(expert, part) or "" for part in PARTS}
        cases.append(ReportCase(report.patient_id, sections(report.report), parts, report.report))
    refuse_records(missing)
    return cases


def _cases_of_run(directory: Path) -> list[ReportCase]:
    """Return the answers of a finished run with the answer keys as references; each epoch is a case."""
    cases = [case for case, _ in reports_of_run(find_run(directory)) if case.reference["diagnosis"]]
    if not cases:
        refuse(f"{directory}: no case has ended with answers and has a diagnosis to compare with")
    return cases


def reports_of_run(run: RecordedRun) -> list[tuple[ReportCase, Result]]:
    """Return the answers of all scored cases: a consultation's report in five parts, or a workflow's diagnoses."""
    found = []
    for result in run.each_answered():
        if not result.scored:
            continue
        case, answers = run.cases[result.case_id], result.answers
        expected = reference_parts(case)
        if isinstance(answers, ConsultationAnswers):
            parts = report_parts(answers.report) if answers.report else None
            report: dict[Part, str] = {part: parts[part] if parts else "" for part in PARTS}
            reference: dict[Part, str] = {part: expected[part] for part in PARTS}
        else:
            report = {"diagnosis": "\n".join(answers.diagnosis if answers else [])}
            reference = {"diagnosis": expected["diagnosis"]}
        found.append((ReportCase(result.case_id, report, reference, written_in=case.language), result))
    return found
