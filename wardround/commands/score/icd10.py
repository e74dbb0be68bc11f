"""``wardround score icd10``: score the diagnoses of reports by ICD-10 terms."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Literal

import anyio
import typer

from scoring.asking import ask_each
from scoring.metrics.icd10 import RULES, Agreement, DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, load_terms
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import Estimate
from scoring.mvme import disease_entities
from wardround.commands.exit_codes import refuse
from wardround.commands.printing import counted
from wardround.commands.score.output import ExtraTable, ModeOption, Scores
from wardround.commands.score.reports import ReferenceOption, ReportCase, ReportSource, read_report_cases
from wardround.commands.score.transcripts import JudgeOption, asking
from wardround.tables.ai_hospital import is_english, language_name

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
    cases = read_report_cases(source, reference)
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
    diseases, failures = _split(cases if sound else with_diagnosis, splitter, term_list, judge)
    mode_rule: Rule = "code" if sound else "published"
    rules = {rule: agreement(diseases, term_list, rule) for rule in RULES}
    answered: dict[str, Estimate] = {}
    notes = []
    if len(with_diagnosis) < len(cases):
        what = "and count as naming no disease" if sound else f"(in files: {_AS_PUBLISHED}) and are left out"
        notes = [f"{len(cases) - len(with_diagnosis)} of {len(cases)} reports have no diagnosis {what}."]
        with_diagnosis_ids = {case.case_id for case in with_diagnosis}
        answered_cases = [case for case in diseases if case.predicted or case.case_id in with_diagnosis_ids]
        answered = agreement(answered_cases, term_list, mode_rule).columns if sound else {}
    metrics = {"#": predicted_entities(diseases), **rules[mode_rule].columns}
    metrics |= {f"{name}.{rule}": one for rule, found in rules.items() for name, one in found.columns.items()}
    notes += (
        [f"Left out: {counted(len(failures), 'case')} in which the splitter failed ({failures[0]})."]
        if failures
        else []
    )
    table = _summary(rules.items(), splitter, len(term_list))
    return Scores("icd10", mode, len(diseases), metrics, [table], notes, bool(failures), answered)


def _has_diagnosis(case: ReportCase, mode: Definition) -> bool:
    """Whether the report has a diagnosis; the authors also require a basis, and two exact headings."""
    if mode == "paper" and case.text:
        return all(heading in case.text for heading in _PUBLISHED_HEADINGS)
    return "diagnosis" in case.report


def _split(
    cases: list[ReportCase], splitter: Splitter, terms: TermList, judge: str
) -> tuple[list[DiseaseCase], list[str]]:
    by_rule = partial(disease_entities.split_by_rule, terms=terms, standard=splitter == "standard")
    texts = [(case, case.report.get("diagnosis", ""), case.reference["diagnosis"]) for case in cases]
    if splitter != "llm":
        return [
            DiseaseCase(case.case_id, by_rule(reported), by_rule(expected)) for case, reported, expected in texts
        ], []
    if judge == "offline":
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

    asked = anyio.run(ask_each, texts, by_model)
    return [found for _, found in asked.answers], [reason for _, reason in asked.failures]


def _summary(rules: Iterable[tuple[str, Agreement]], splitter: Splitter, terms: int) -> ExtraTable:
    rows = []
    for rule, found in rules:
        means = [one.mean for one in found.columns.values()]
        rows.append([rule, *("unscored" if mean is None else f"{mean:.2f}" for mean in means)])
    return ExtraTable(f"By matching rule (diseases found by {splitter}; {terms} terms)", ["rule", "R", "P", "F1"], rows)
