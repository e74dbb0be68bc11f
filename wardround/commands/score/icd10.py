"""``wardround score icd10``: the diseases of reports, linked to terms (AI Hospital, table 3)."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from llm.specs import OFFLINE
from scoring.asking import ask_each
from scoring.metrics.icd10 import RULES, Agreement, DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, load_terms
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import Estimate
from scoring.mvme import disease_entities
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, as_wrong_table, unanswered
from wardround.commands.score.report_cases import (
    ReferenceOption,
    ReportCase,
    ReportSource,
    count_reports,
    failed_reports,
    read_report_cases,
    run_of_reports,
)
from wardround.commands.score.rescored import KeysOption, keys_of
from wardround.commands.score.transcripts import JudgeOption, checked_models
from wardround.run.own_loop import run_alone
from wardround.tables.ai_hospital import is_english, language_name
from wardround.tables.scores import failed_notes

Splitter = Literal["rule", "standard", "llm"]  # how the diseases in a diagnosis are found
_PUBLISHED_HEADINGS = ("#诊断结果#", "#诊断依据#")
_AS_PUBLISHED = f"{' and '.join(_PUBLISHED_HEADINGS)} in this spelling"


def icd10(
    source: ReportSource,
    reference: ReferenceOption = None,
    terms: Annotated[
        str, Option(help="Terms to link to: icd10cm (English), or an .xls or .csv file of codes and names.")
    ] = "icd10cm",
    splitter: Annotated[
        Splitter,
        Option(
            help="Find diseases by rule, by rule with standard names (standard), or with the model of --judge (llm)."
        ),
    ] = "rule",
    judge: JudgeOption = "offline",
    mode: ModeOption = "sound",
    cases: KeysOption = None,
) -> Scores:
    """Score diagnoses by ICD-10 terms (AI Hospital, table 3).

    R, P and F1 are recall, precision and F1 in percent. Two diseases match if their nearest terms have the same full
    code (sound mode), or if their ten nearest names overlap (paper mode). The scores by each of the three rules follow
    as R.published, R.code, R.category and so on. A report without a diagnosis counts as missing all diseases of the
    reference (sound mode), or is left out (paper mode).
    """
    run = run_of_reports(source, cases)
    reports = read_report_cases(source, reference, run, ["diagnosis"])
    if judge != OFFLINE and splitter != "llm":
        refuse(f"--judge {judge}: nobody would be asked; add --splitter llm to have it find the diseases")
    sound = mode == "sound"
    with_diagnosis = [case for case in reports if _has_diagnosis(case, mode)]
    if not with_diagnosis:
        wanted = (
            "a heading such as #诊断结果# or # Diagnosis" if sound else f"{_AS_PUBLISHED} (--mode sound: others too)"
        )
        refuse(f"{source}: no report has a diagnosis; expected {wanted} in each report")
    if terms == ICD10CM:
        _check_english(source, with_diagnosis)
    term_list = load_terms(terms)
    split, failures = _split(reports if sound else with_diagnosis, splitter, term_list, judge)
    diseases = [found for _, found in split]
    mode_rule: Rule = "code" if sound else "published"
    rules = {rule: agreement(diseases, term_list, rule) for rule in RULES}
    answered: dict[str, Estimate] = {}
    key_notes, keys = keys_of(run)
    notes = [*key_notes, *failed_notes([run] if run else [])]
    if len(with_diagnosis) < len(reports):
        what = "and count as naming no disease" if sound else f"(in files: {_AS_PUBLISHED}) and are left out"
        notes.append(f"{len(reports) - len(with_diagnosis)} of {len(reports)} reports have no diagnosis {what}.")
        answered_cases = [found for case, found in split if _has_diagnosis(case, mode)]
        answered = agreement(answered_cases, term_list, mode_rule).columns if sound else {}
    metrics = {"#": predicted_entities(diseases), **rules[mode_rule].columns}
    metrics |= {f"{name}.{rule}": one for rule, found in rules.items() for name, one in found.columns.items()}
    notes += unanswered(failures, "case", "in which the splitter failed")
    tables = [_by_rule(rules, f"By matching rule (diseases found by {splitter}; {len(term_list)} terms)")]
    if run and sound and (failed := failed_reports(run, ["diagnosis"])):
        without, _ = _split(failed, splitter, term_list, judge)
        tables += as_wrong_table(agreement([*diseases, *(each for _, each in without)], term_list, mode_rule).columns)
    n, more = count_reports(run, [case for case, _ in split])
    return Scores("icd10", mode, n, metrics, tables, notes, bool(failures), answered, more=more, keys=keys)


def _check_english(source: Path, cases: Sequence[ReportCase]) -> None:
    """Refuse English terms for reports of which most are in other languages."""
    foreign = [case.language for case in cases if not is_english(case.language)]
    if len(foreign) * 2 > len(cases):
        name = language_name(max(foreign, key=foreign.count))
        refuse(f"{source}: the reports are {name}, but {ICD10CM} is English; give a list in {name} with --terms FILE")


def _by_rule(rules: Mapping[Rule, Agreement], title: str) -> ExtraTable:
    rows = [
        [rule, *("unscored" if one.mean is None else f"{one.mean:.2f}" for one in found.columns.values())]
        for rule, found in rules.items()
    ]
    return ExtraTable(title, ["rule", "R", "P", "F1"], rows)


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
        diseases_in = partial(disease_entities.split_by_rule, terms=terms, standard=splitter == "standard")
        return [(case, DiseaseCase(case.case_id, *map(diseases_in, both))) for case, *both in texts], []
    if judge == OFFLINE:
        refuse("--splitter llm: needs a model; for example, add --judge openai:gpt-4o-mini")
    settings = checked_models({"default": judge})

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
