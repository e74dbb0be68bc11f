"""The reports that a suite scores, and the expert's parts to score them against: files of others, or a run of ours."""

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
    """One report and the expert's parts of the same case."""

    case_id: str
    report: dict[Part, str]
    reference: dict[Part, str]
    text: str = field(default="", repr=False)
    written_in: Language | None = None

    @property
    def language(self) -> Language:
        """The language that the case is written in; guessed from the reference where nothing says it."""
        return self.written_in or language_of(*self.reference.values())


def read_report_cases(source: Path, reference: Path | None) -> list[ReportCase]:
    """Every case of the source, with its reference; ends the command if a record is faulty or has no reference."""
    return _cases_of_run(source) if source.is_dir() else _cases_of_file(source, reference)


def _cases_of_file(source: Path, reference: Path | None) -> list[ReportCase]:
    reading = read_reports(source)
    references, problems = read_references(reference) if reference else ({}, [])
    refuse_records([*reading.errors, *problems])
    if reference is None and any(report.reference is None for report in reading.records):
        refuse(f"{source}: the records hold no reference; name a file that does with --reference")
    cases, lacking = [], []
    for report in reading.records:
        expert = references.get(report.patient_id, report.reference)
        if expert is None:
            message = f"has no reference in {reference}; expected one for every patient"
            lacking.append(Problem(str(source), f"patient {report.patient_id}", "patient_id", message))
            continue
        parts: dict[Part, str] = {part: getattr(expert, part) or "" for part in PARTS}
        cases.append(ReportCase(report.patient_id, sections(report.report), parts, report.report))
    refuse_records(lacking)
    return cases


def _cases_of_run(directory: Path) -> list[ReportCase]:
    """The answers of a finished run, each epoch a case of its own, against the answer keys."""
    cases = [case for case, _ in reports_of_run(find_run(directory)) if case.reference["diagnosis"]]
    if not cases:
        refuse(f"{directory}: no case has ended with answers and has a diagnosis to compare with")
    return cases


def reports_of_run(run: RecordedRun) -> list[tuple[ReportCase, Result]]:
    """The answers of every scored case: a consultation's report in five parts, a workflow's diagnoses alone."""
    found = []
    for result in run.each_answered():
        if not result.scored:
            continue
        case, answers = run.cases[result.case_id], result.answers
        wanted = reference_parts(case)
        if isinstance(answers, ConsultationAnswers):
            written = report_parts(answers.report) if answers.report else None
            report: dict[Part, str] = {part: written[part] if written else "" for part in PARTS}
            reference: dict[Part, str] = {part: wanted[part] for part in PARTS}
        else:
            report = {"diagnosis": "\n".join(answers.diagnosis if answers else [])}
            reference = {"diagnosis": wanted["diagnosis"]}
        found.append((ReportCase(result.case_id, report, reference, written_in=case.language), result))
    return found
