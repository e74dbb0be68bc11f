"""Diagnoses linked to ICD-10 terms (AI Hospital, section 3.2 and Table 3)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from scoring.metrics.icd10 import DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, TermListError, load_terms
from scoring.mvme.disease_entities import split_diseases
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, DoesNotFitError, Table, measured

TITLES: Mapping[Rule, str] = {"published": "Published", "code": "Full code", "category": "Category"}


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Recall, precision and F1 of the diseases in the reports, by the published rule and two sound ones.

    Raises:
        DoesNotFitError: no run wrote reports, or all cases are Chinese, for which no list of terms comes along.
    """
    reporting = [run for run in runs if run.experiment.graph != "clinical_workflow"]
    if not reporting:
        raise DoesNotFitError("no run wrote reports (graphs consultation, one_step and dispute_resolution)")
    if not any(linkable(run) for run in reporting):
        raise DoesNotFitError(
            "all cases are Chinese, and no Chinese list of terms comes along; name one with --set data.terms=FILE, "
            "or use `wardround score icd10 RUN --terms FILE`"
        )
    rows = []
    chinese = 0
    for run in reporting:
        terms = _terms(run.experiment.data.terms or ICD10CM)
        cases = diseases_of(run, terms)
        chinese = max(chinese, len(run.cases) - len(linkable(run)))
        found = {"entities": predicted_entities(cases)}
        for rule in TITLES:
            agreed = agreement(cases, terms, rule)
            found |= {f"{rule}_R": agreed.recall, f"{rule}_P": agreed.precision, f"{rule}_F1": agreed.f1}
        rows.append({"run": run.name, "cases": len(cases), **measured(found)})
    columns = [
        Column("run", "Run", key=True),
        Column("cases", "Cases"),
        Column("entities", "#", mean=True),
        *(Column(f"{rule}_{part}", part, TITLES[rule], mean=True) for rule in TITLES for part in ("R", "P", "F1")),
    ]
    notes = [
        "#: diseases named in a report. Recall, precision and F1 in percent, over the diseases of all cases.",
        "Diseases split by rule and linked to the names of "
        + ", ".join(sorted({run.experiment.data.terms or "ICD-10-CM" for run in reporting}))
        + ".",
    ]
    if chinese:
        notes.append(f"{chinese} Chinese cases are left out: no Chinese list of terms comes along.")
    caption = "Link-based evaluation of the diagnoses; ± is half the width of the 95 % bootstrap interval."
    return [Table("icd10", "Diagnoses linked to ICD-10", columns, rows, notes, caption)]


def linkable(run: RecordedRun) -> set[str]:
    """The cases whose language the run's list of terms has: of the list that comes along, the English ones."""
    return {case.id for case in run.cases.values() if run.experiment.data.terms or case.language == "en"}


@lru_cache(maxsize=2)
def _terms(source: str) -> TermList:
    try:
        return load_terms(source)
    except TermListError as error:
        raise DoesNotFitError(str(error)) from error


def diseases_of(run: RecordedRun, terms: TermList) -> list[DiseaseCase]:
    """The diseases of every scored case that can be linked; a report that was not written names none."""
    chosen = linkable(run)

    def diseases(names: Sequence[str]) -> list[str]:
        return split_diseases("\n".join(names), terms.__contains__)

    return [
        DiseaseCase(result.case_id, diseases(result.answers.diagnosis if result.answers else []), diseases(reference))
        for result in run.each_answered()
        if result.scored and result.case_id in chosen and (reference := run.cases[result.case_id].key.diagnosis)
    ]
