"""``wardround score mvme``, ``icd10`` and ``consensus``: the reports and discussions of AI Hospital."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from cases import Problem
from cases.text.words import language_of
from cases.vocabulary import Language
from llm.specs import OFFLINE
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.metrics.icd10 import RULES, DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, load_terms
from scoring.metrics.samples import Definition, over_cases
from scoring.metrics.statistics import Estimate, estimate
from scoring.mvme import disease_entities, judges
from scoring.mvme.consensus import (
    ROUNDS,
    Discussion,
    End,
    discussion,
    ended_at,
    share_ended_at,
    share_in_consensus,
    share_of_end,
)
from scoring.mvme.grades import ENDS, LOWEST, SCORES, Option, released_grades, score_parts
from scoring.mvme.judges import ERROR_TYPES, Misdiagnosis, MvmeGrades, ReportParts
from scoring.mvme.suite import COPIED, NOT_TO_GRADE
from scoring.mvme.transcripts import (
    PARTS,
    Evaluation,
    Part,
    kind_of,
    read_collaborations,
    read_evaluations,
    read_references,
    read_reports,
    sections,
)
from scoring.panel import ask_each
from wardround.commands.exit_codes import refuse
from wardround.commands.printing import counted, first_of
from wardround.commands.score.output import (
    ExtraTable,
    ModeOption,
    Scores,
    as_wrong_table,
    asked_of_rules,
    refuse_records,
    unanswered,
)
from wardround.commands.score.transcripts import JudgeOption, asking, counts, read_files
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun, find_run
from wardround.store.result import Result
from wardround.tables.ai_hospital import NO_DISCUSSION, discussions_of, is_english, language_name
from wardround.tables.scores import failed_notes, judge_notes

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

    @property
    def both(self) -> tuple[ReportParts, ReportParts]:
        """The report and the reference, for the director."""
        return ReportParts(**self.report), ReportParts(**self.reference)


def read_report_cases(source: Path, reference: Path | None, run: RecordedRun | None) -> list[ReportCase]:
    """Read every case of the source with its reference; exits if a record is faulty or has no reference.

    If the source is a run, these are its finished answers with their keys, one for each epoch.
    """
    if run is None:
        return _cases_of_file(source, reference)
    cases = [case for case, _ in reports_of_run(run) if case.reference["diagnosis"]]
    if not cases:
        refuse(f"{source}: no finished case has both answers and a diagnosis to compare with")
    return cases


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


def _counts(run: RecordedRun | None, reports: Sequence[ReportCase]) -> tuple[int, list[str]]:
    """Return the number of cases, and of a run's reports in words if it has several epochs; a file has no epochs."""
    return counts([report.case_id for report in reports], "reports") if run else (len(reports), [])


def reports_of_run(run: RecordedRun) -> list[tuple[ReportCase, Result]]:
    """Return the answers of every scored case: all five parts of a consultation's report, or a workflow's diagnoses."""
    found = []
    for result in run.each_answered():
        if not result.scored:
            continue
        case, answers = run.cases[result.case_id], result.answers
        reference_report = reference_parts(case)
        copied: Collection[str] = ()
        parts: Sequence[Part] = ("diagnosis",)
        given = ReportParts(diagnosis="\n".join(answers.diagnosis if answers else []))
        if isinstance(answers, ConsultationAnswers):
            parts, copied = PARTS, COPIED if answers.disclosed else ()
            given = report_parts(answers.report) if answers.report else ReportParts()
        report, reference = ({part: each[part] for part in parts} for each in (given, reference_report))
        found.append((ReportCase(result.case_id, report, reference, written_in=case.language, copied=copied), result))
    return found


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
    if judge != OFFLINE and not (grade or error_types):
        refuse(f"--judge {judge}: nobody would be asked; add --grade to grade the reports anew, or --error-types")
    settings = asking({"default": judge})
    failures: list[tuple[ReportCase, str]] = []
    tables: list[ExtraTable] = []
    run = find_run(source) if source.is_dir() else None
    notes = failed_notes([run] if run else [])
    notes += asked_of_rules(("--judge", judge)) if grade or error_types else []

    async def ask_director(case: ReportCase) -> MvmeGrades:
        return await judges.grade(*case.both, settings, case.language, case.case_id, copied=case.copied)

    async def ask_why(case: ReportCase) -> Misdiagnosis:
        return await judges.misdiagnosis(*case.both, settings, case.language, case.case_id)

    if grade:
        answers, failures = run_alone(ask_each, read_report_cases(source, reference, run), ask_director)
        graded: list[tuple[ReportCase, Grades]] = [(case, answer.options) for case, answer in answers]
        metrics = _means_by_part({"": [options for _, options in graded]}, mode, [case.case_id for case, _ in graded])
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
        found, failed = run_alone(ask_each, lowest, ask_why)
        metrics |= {
            name: over_cases(((case.case_id, float(why.type == name)) for case, why in found), (0.0, 1.0))
            for name in ERROR_TYPES
        }
        failures = [*failures, *failed]
    notes += unanswered([reason for _, reason in failures])
    n, more = _counts(run, [case for case, _ in graded])
    return Scores("mvme", mode, n, metrics, tables, notes, failed=bool(failures), more=more)


def _released_grades(source: Path, mode: Definition) -> tuple[list[tuple[ReportCase, Grades]], dict[str, Estimate]]:
    """Return the grades in an evaluation file."""
    if kind_of(source) not in (Evaluation, None):
        refuse(f"{source}: contains reports without grades; expected evaluations, or add --grade to grade the reports")
    by_doctor: dict[str, list[Grades]] = {}
    grades: list[Grades] = []
    for record in read_files(read_evaluations, [source])[0]:
        grades.append(released_grades(record, published=mode == "paper"))
        by_doctor.setdefault(record.doctor_name, []).append(grades[-1])
    return list(zip(_cases_of_file(source, None), grades, strict=True)), _means_by_part(by_doctor, mode)


def _unclear(grades: list[Grades], mode: Definition) -> list[str]:
    """Return a note of how many grades of each part are missing or no single option, if any."""
    count = Counter(part for options in grades for part, option in options.items() if option is None)
    parts = ", ".join(f"{part} {count[part]}" for part in PARTS if count[part])
    how = "Left out" if mode == "sound" else f"Counted as {SCORES[LOWEST]}"
    return [f"{how}, as the file gives no one option: {parts}."] if parts else []


def _recorded_grades(run: RecordedRun, mode: Definition) -> tuple[list[tuple[ReportCase, Grades]], dict[str, Estimate]]:
    """Return the grades that the director gave in one of our runs; for intervals, the epochs of a case are one case."""
    if run.suite.name != "mvme":
        refuse(f"{run.path}: was scored by suite {run.suite.name}, not mvme; add --grade to grade the reports")
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
        part: estimate(*zip(*scored, strict=True), ends=ENDS, published=True) if scored else Estimate(n=0)
        for part, scored in values.items()
    }


def _means_by_part(
    by_doctor: Mapping[str, list[Grades]], mode: Definition, cases: Sequence[str] | None = None
) -> dict[str, Estimate]:
    """Return the means by part, prefixed with the doctor's name if there are several."""
    scores_by_doctor = {
        doctor: score_parts(grades, published=mode == "paper", cases=cases) for doctor, grades in by_doctor.items()
    }
    return {
        f"{doctor}: {part}" if len(scores_by_doctor) > 1 else part: found
        for doctor, parts in scores_by_doctor.items()
        for part, found in parts.items()
    }


Splitter = Literal["rule", "standard", "llm"]  # how the diseases in a diagnosis are found
_PUBLISHED_HEADINGS = ("#诊断结果#", "#诊断依据#")
_AS_PUBLISHED = f"{' and '.join(_PUBLISHED_HEADINGS)} in this spelling"


def icd10(
    source: ReportSource,
    reference: ReferenceOption = None,
    terms: Annotated[
        str, typer.Option(help="Terms to link to: icd10cm (English), or an .xls or .csv file of codes and names.")
    ] = "icd10cm",
    splitter: Annotated[
        Splitter,
        typer.Option(
            help="Find diseases by rule, by rule with standard names (standard), or with the model of --judge (llm)."
        ),
    ] = "rule",
    judge: JudgeOption = "offline",
    mode: ModeOption = "sound",
) -> Scores:
    """Score diagnoses by ICD-10 terms (AI Hospital, table 3).

    R, P and F1 are recall, precision and F1 in percent. Two diseases match if their nearest terms have the same full
    code (sound mode), or if their ten nearest names overlap (paper mode). The scores by each of the three rules follow
    as R.published, R.code, R.category and so on. A report without a diagnosis counts as missing all diseases of the
    reference (sound mode), or is left out (paper mode).
    """
    run = find_run(source) if source.is_dir() else None
    cases = read_report_cases(source, reference, run)
    if judge != OFFLINE and splitter != "llm":
        refuse(f"--judge {judge}: nobody would be asked; add --splitter llm to have it find the diseases")
    sound = mode == "sound"
    with_diagnosis = [case for case in cases if _has_diagnosis(case, mode)]
    if not with_diagnosis:
        wanted = (
            "a heading such as #诊断结果# or # Diagnosis" if sound else f"{_AS_PUBLISHED} (--mode sound: others too)"
        )
        refuse(f"{source}: no report has a diagnosis; expected {wanted} in each report")
    foreign = [case.language for case in with_diagnosis if not is_english(case.language)]
    if terms == ICD10CM and len(foreign) * 2 > len(with_diagnosis):
        name = language_name(max(foreign, key=foreign.count))
        refuse(f"{source}: the reports are {name}, but {ICD10CM} is English; give a list in {name} with --terms FILE")
    term_list = load_terms(terms)
    split, failures = _split(cases if sound else with_diagnosis, splitter, term_list, judge)
    diseases = [found for _, found in split]
    mode_rule: Rule = "code" if sound else "published"
    rules = {rule: agreement(diseases, term_list, rule) for rule in RULES}
    answered: dict[str, Estimate] = {}
    notes = failed_notes([run] if run else [])
    if len(with_diagnosis) < len(cases):
        what = "and count as naming no disease" if sound else f"(in files: {_AS_PUBLISHED}) and are left out"
        notes.append(f"{len(cases) - len(with_diagnosis)} of {len(cases)} reports have no diagnosis {what}.")
        answered_cases = [found for case, found in split if _has_diagnosis(case, mode)]
        answered = agreement(answered_cases, term_list, mode_rule).columns if sound else {}
    metrics = {"#": predicted_entities(diseases), **rules[mode_rule].columns}
    metrics |= {f"{name}.{rule}": one for rule, found in rules.items() for name, one in found.columns.items()}
    if failures:
        notes.append(f"Left out: {counted(len(failures), 'case')} in which the splitter failed ({failures[0]}).")
    title = f"By matching rule (diseases found by {splitter}; {len(term_list)} terms)"
    rows = [
        [rule, *("unscored" if one.mean is None else f"{one.mean:.2f}" for one in found.columns.values())]
        for rule, found in rules.items()
    ]
    tables = [ExtraTable(title, ["rule", "R", "P", "F1"], rows)]
    if run and sound and (failed := _failed_cases(run)):
        without, _ = _split(failed, splitter, term_list, judge)
        tables += as_wrong_table(agreement([*diseases, *(each for _, each in without)], term_list, mode_rule).columns)
    n, more = _counts(run, [case for case, _ in split])
    return Scores("icd10", mode, n, metrics, tables, notes, bool(failures), answered, more=more)


def _failed_cases(run: RecordedRun) -> list[ReportCase]:
    """Return the failed cases of a run that have a diagnosis to compare with, as reports without one."""
    asked = [result for result in run.results if result.termination != "sex_bound"]  # the others were refused
    failed = [run.cases[result.case_id] for result in asked if not result.scored]
    references = [(case, reference_parts(case)["diagnosis"]) for case in failed]
    return [ReportCase(case.id, {}, {"diagnosis": told}, written_in=case.language) for case, told in references if told]


def _has_diagnosis(case: ReportCase, mode: Definition) -> bool:
    """Whether the report has a diagnosis; the authors also require a basis, and two exact headings."""
    if mode == "paper" and case.text:
        return all(heading in case.text for heading in _PUBLISHED_HEADINGS)
    return "diagnosis" in case.report


def _split(
    cases: list[ReportCase], splitter: Splitter, terms: TermList, judge: str
) -> tuple[list[tuple[ReportCase, DiseaseCase]], list[str]]:
    """Return the reports with the diseases that each names, and why it failed for others."""
    texts = [(case, case.report.get("diagnosis", ""), case.reference["diagnosis"]) for case in cases]
    if splitter != "llm":
        by_rule = partial(disease_entities.split_by_rule, terms=terms, standard=splitter == "standard")
        return [(case, DiseaseCase(case.case_id, *map(by_rule, both))) for case, *both in texts], []
    if judge == OFFLINE:
        refuse("--splitter llm: needs a model; for example, add --judge openai:gpt-4o-mini")
    settings = asking({"default": judge})

    async def by_model(item: tuple[ReportCase, str, str]) -> DiseaseCase:
        case, reported, expected = item
        place = f"{case.case_id}/report"
        return DiseaseCase(
            case.case_id,
            await disease_entities.ask_for_diseases(reported, settings, case.language, place) if reported else [],
            await disease_entities.ask_for_diseases(expected, settings, case.language, f"{case.case_id}/reference"),
        )

    asked = run_alone(ask_each, texts, by_model)
    return [(item[0], found) for item, found in asked.answers], [reason for _, reason in asked.failures]


def consensus(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Collaboration file of AI Hospital, or run directory.")],
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0, help="Maximum number of rounds of a discussion.", show_default="4, or the limit of the run"
        ),
    ] = None,
    mode: ModeOption = "sound",
) -> Scores:
    """Measure how discussions end (AI Hospital, figure 4).

    Sound mode gives the share of cases in consensus after each round, and separately the shares that gave up or may
    have given up. Paper mode gives the share that ended after each round; in the last round, it mixes consensus with
    giving up.
    """
    notes: list[str] = []
    if source.is_dir():
        run = find_run(source)
        found = discussions_of(run.scored)
        if not found:
            refuse(f"{source}: {NO_DISCUSSION}")
        rounds = run.experiment.context.max_rounds if rounds is None else rounds
        if (highest := max(one.rounds for one in found)) > rounds:
            refuse(f"--rounds {rounds}: a discussion of {source} had {highest} rounds; give at least {highest}")
        if no_discussion := len(run.scored) - len(found):
            notes.append(
                f"Left out: {counted(no_discussion, 'case')} without a discussion (single doctor, or stopped before)."
            )
    else:
        rounds = ROUNDS if rounds is None else rounds
        found = _discussions_in(source, rounds)
    numbers = range(rounds + 1)
    metrics = {f"ended_after_{number}": share_ended_at(found, number) for number in numbers}
    if mode == "sound":
        metrics |= {f"consensus_after_{number}": share_in_consensus(found, number) for number in numbers}
        metrics |= {end: share_of_end(found, end) for end in get_args(End)}
    agreed = Counter(one.rounds for one in found if one.end == "agreed")
    rows = [[str(number), str(count), str(agreed[number])] for number, count in ended_at(found, rounds).items()]
    unknown = sum(one.end == "unknown" for one in found)
    least = agreed.total() / max(1, len(found))
    note = (
        f"{unknown} cases used all {rounds} rounds, and their records do not say whether the last ended in agreement. "
        f"Between {least:.1%} and {least + unknown / max(1, len(found)):.1%} of all cases therefore ended in agreement."
    )
    table = ExtraTable("Cases by the round in which they ended", ["round", "ended", "known to agree"], rows)
    return Scores("consensus", mode, len(found), metrics, [table], [*notes, note] if unknown else notes)


def _discussions_in(source: Path, rounds: int) -> list[Discussion]:
    """Read the discussions in a file of collaborations."""
    found: list[Discussion] = []
    problems: list[Problem] = []
    for record in read_files(read_collaborations, [source])[0]:
        try:
            found.append(discussion(record, rounds))
        except ValueError as error:
            problems.append(Problem(str(source), f"patient {record.patient_id}", "final_turn", str(error)))
    refuse_records(problems)
    return found
