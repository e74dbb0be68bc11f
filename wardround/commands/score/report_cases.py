"""What the score commands of AI Hospital share: reports of files and runs, each with the expert's parts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cases import Case, Problem
from cases.text.words import language_of
from cases.vocabulary import Language
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.metrics.samples import of_epoch
from scoring.mvme.judges import ReportParts
from scoring.mvme.suite import COPIED, other_plans
from scoring.mvme.transcripts import PARTS, Part, read_references, read_reports, sections
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import refuse_records
from wardround.commands.score.transcripts import counts, failed_results
from wardround.store.recorded_run import RecordedRun
from wardround.store.rekeyed import run_to_score
from wardround.store.result import Result

ReportSource = Annotated[
    Path,
    Argument(
        metavar="SRC",
        help="File of AI Hospital (evaluations, one-step outputs, dialogues or collaborations), or run directory.",
    ),
]
ReferenceOption = Annotated[
    Path | None,
    Option(
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
    plans: Sequence[str] = ()  # other sound treatments, with one of which a report's treatment may agree better
    copied: Collection[str] = ()  # parts that the doctor copied from the disclosed record, so that nobody grades them

    @property
    def language(self) -> Language:
        """The language of the case; guessed from the reference if unknown."""
        return self.written_in or language_of(*self.reference.values())

    def has(self, part: Part) -> bool:
        """Whether there is something to compare a part of the report with."""
        return bool(self.reference.get(part)) or (part == "treatment" and bool(self.plans))

    @property
    def both(self) -> tuple[ReportParts, ReportParts]:
        """The report and the reference, for the director."""
        return ReportParts(**self.report), ReportParts(**self.reference)


def run_of_reports(source: Path, cases: Path | None) -> RecordedRun | None:
    """Return the run that the source is, with the keys of ``cases`` if they are given; None if it is a file."""
    if source.is_dir():
        return run_to_score(source, cases)
    if cases is not None:
        refuse(f"--cases {cases}: is for runs; give the expert's parts for a file with --reference")
    return None


def read_report_cases(
    source: Path, reference: Path | None, run: RecordedRun | None, needed: Collection[Part] = PARTS
) -> list[ReportCase]:
    """Read every case of the source with its reference; exits if a record is faulty or has no reference.

    If the source is a run, these are its finished answers, one for each epoch, whose keys have one of the ``needed``
    parts.
    """
    if run is None:
        return report_cases_of_file(source, reference)
    if reference:
        refuse(f"--reference {reference}: is for files; a run is compared with the keys of its cases, or of --cases")
    cases = [case for case, _ in reports_of_run(run) if any(map(case.has, needed))]
    if not cases:
        refuse(f"{source}: no finished case has both answers and a key to compare with ({', '.join(needed)})")
    return cases


def report_cases_of_file(source: Path, reference: Path | None) -> list[ReportCase]:
    """Read the reports of a file, with references from another if it has none; exits if a record is faulty."""
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


def count_reports(run: RecordedRun | None, reports: Sequence[ReportCase]) -> tuple[int, list[str]]:
    """Return the number of cases, and of a run's reports in words if it has several epochs; a file has no epochs."""
    return counts([of_epoch(report.case_id, 0) for report in reports], "report") if run else (len(reports), [])


def failed_reports(run: RecordedRun, needed: Collection[Part] = PARTS) -> list[ReportCase]:
    """Return the failed cases of a run whose keys have one of the ``needed`` parts, as reports without any part."""
    failed = [_expected(run.experiment.to_score(run.cases[result.case_id])) for result in failed_results(run)]
    return [case for case in failed if any(map(case.has, needed))]


def reports_of_run(run: RecordedRun) -> list[tuple[ReportCase, Result]]:
    """Return the answers of every scored case: all five parts of a consultation's report, or a workflow's diagnoses."""
    found = []
    for result in run.each_answered():
        if not result.scored:
            continue
        expected = _expected(run.experiment.to_score(run.case_of(*result.key)))
        answers = result.answers
        copied: Collection[str] = ()
        parts: Sequence[Part] = ("diagnosis",)
        given = ReportParts(diagnosis="\n".join(answers.diagnosis if answers else []))
        if isinstance(answers, ConsultationAnswers):
            parts, copied = PARTS, COPIED if answers.disclosed else ()
            given = report_parts(answers.report) if answers.report else ReportParts()
        report = {part: given[part] for part in parts}
        reference = {part: expected.reference[part] for part in parts}
        plans = expected.plans if "treatment" in parts else ()
        found.append((replace(expected, report=report, reference=reference, plans=plans, copied=copied), result))
    return found


def _expected(case: Case) -> ReportCase:
    """Return what the report of a case is compared with, without any part of the report."""
    reference = reference_parts(case)
    return ReportCase(
        case.id, {}, {part: reference[part] for part in PARTS}, written_in=case.language, plans=other_plans(case)
    )
