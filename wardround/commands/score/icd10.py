"""``wardround score icd10``: diagnoses of reports, linked to ICD-10 terms."""

from collections.abc import Iterable
from typing import Annotated, Literal

import anyio
import typer

from scoring.asking import ask_each
from scoring.metrics.icd10 import RULES, Agreement, DiseaseCase, Rule, agreement, predicted_entities, standard_names
from scoring.metrics.icd10_terms import ICD10CM, TermList, load_terms
from scoring.metrics.samples import Definition
from scoring.metrics.statistics import Estimate
from scoring.mvme import disease_entities
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ExtraTable, ModeOption, Scores
from wardround.commands.score.reports import ReferenceOption, ReportCase, ReportSource, read_report_cases
from wardround.commands.score.transcripts import JudgeOption, asking

Splitter = Literal["rule", "standard", "llm"]  # what splits a diagnosis into diseases


def icd10(
    source: ReportSource,
    reference: ReferenceOption = None,
    terms: Annotated[
        str, typer.Option(help="icd10cm (English), or an .xls or .csv file of codes and names.")
    ] = "icd10cm",
    splitter: Annotated[
        Splitter, typer.Option(help="By rule, by rule and under standard names, or by the model named with --judge.")
    ] = "rule",
    judge: JudgeOption = "offline",
    mode: ModeOption = "sound",
) -> Scores:
    """Diseases found, by three rules (AI Hospital, table 3).

    Recall, precision and F1: R, P and F1 are those of the mode: sound compares the full code of the nearest term, paper
    whether the ten nearest names overlap. All three rules stand beside them as R.published, R.code, R.category and so
    on, in percent. Sound: a report without a diagnosis misses all that the reference names; paper: it is left out.
    """
    cases = read_report_cases(source, reference)
    given = [case for case in cases if _has_diagnosis(case, mode)]
    if not given:
        refuse(f"{source}: no report has a diagnosis; expected a heading such as #诊断结果# or # Diagnosis in each")
    if terms == ICD10CM and sum(case.language == "zh" for case in given) * 2 > len(given):
        refuse(f"{source}: the reports are Chinese and {ICD10CM} is English; name a Chinese list with --terms FILE")
    listed = load_terms(terms)
    diseases, failures = _split_diagnoses(given if mode == "paper" else cases, splitter, listed, judge)
    own: Rule = "published" if mode == "paper" else "code"
    rules = {rule: agreement(diseases, listed, rule) for rule in RULES}
    answered: dict[str, Estimate] = {}
    notes = []
    if len(given) < len(cases):
        sound = mode == "sound"
        what = "count as naming none" if sound else "are left out"
        notes = [f"{len(cases) - len(given)} of {len(cases)} reports have no diagnosis and {what}."]
        spoken = {case.case_id for case in given}
        heard = [case for case in diseases if case.predicted or case.case_id in spoken]
        answered = _by_name(agreement(heard, listed, own)) if sound else {}
    metrics = {"#": predicted_entities(diseases), **_by_name(rules[own])}
    for rule, found in rules.items():
        metrics |= _by_name(found, f".{rule}")
    notes += [f"{len(failures)} cases are left out: the splitter failed ({failures[0]})."] if failures else []
    table = _summary(rules.items(), splitter, len(listed))
    return Scores("icd10", mode, len(diseases), metrics, [table], notes, bool(failures), answered)


def _has_diagnosis(case: ReportCase, mode: Definition) -> bool:
    """Return whether a report has a diagnosis; paper mode also wants a basis, and both headings verbatim."""
    if mode == "paper" and case.text:
        return all(heading in case.text for heading in ("#诊断结果#", "#诊断依据#"))
    return "diagnosis" in case.report


def _split_diagnoses(
    cases: list[ReportCase], splitter: Splitter, terms: TermList, judge: str
) -> tuple[list[DiseaseCase], list[str]]:
    def by_rule(text: str) -> list[str]:
        names = disease_entities.split_diseases(text, terms.__contains__)
        return standard_names(names, terms) if splitter == "standard" else names

    texts = [(case, case.report.get("diagnosis", ""), case.reference["diagnosis"]) for case in cases]
    if splitter != "llm":
        return [DiseaseCase(case.case_id, by_rule(written), by_rule(expected)) for case, written, expected in texts], []
    if judge == "offline":
        refuse("--splitter llm: name the model, for example --judge openai:gpt-4o-mini")
    settings = asking({"default": judge})

    async def by_model(item: tuple[ReportCase, str, str]) -> DiseaseCase:
        case, written, expected = item
        place = f"{case.case_id}/report"
        return DiseaseCase(
            case.case_id,
            await disease_entities.ask_for_diseases(written, settings, case.language, place) if written else [],
            await disease_entities.ask_for_diseases(expected, settings, case.language, f"{case.case_id}/reference"),
        )

    asked = anyio.run(ask_each, texts, by_model)
    return [found for _, found in asked.answers], [reason for _, reason in asked.failures]


def _by_name(found: Agreement, suffix: str = "") -> dict[str, Estimate]:
    named = {"R": found.recall, "P": found.precision, "F1": found.f1}
    return {f"{name}{suffix}": value for name, value in named.items()}


def _summary(rules: Iterable[tuple[str, Agreement]], splitter: Splitter, terms: int) -> ExtraTable:
    rows = []
    for rule, found in rules:
        means = [one.mean for one in (found.recall, found.precision, found.f1)]
        rows.append([rule, *("unscored" if mean is None else f"{mean:.2f}" for mean in means)])
    return ExtraTable(f"By rule; diseases by {splitter}, {terms} terms", ["rule", "R", "P", "F1"], rows)
