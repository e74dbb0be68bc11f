"""AI Hospital's Table 2, the director's grades, and Table 3, diagnoses by ICD-10."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from scoring.metrics.icd10 import DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import TermList, load_terms
from scoring.metrics.statistics import Estimate
from scoring.mvme.disease_entities import split_by_rule
from scoring.mvme.grades import released_grades, score_parts
from scoring.mvme.transcripts import (
    PARTS,
    Evaluation,
    Reference,
    Report,
    kind_of,
    read_evaluations,
    read_references,
    read_reports,
    sections,
)
from wardround.printing import counted
from wardround.reproduction.cells import Cell, Found, Printing, cells_of
from wardround.reproduction.release import Release, first_record
from wardround.tables.published import published

_BY_MODEL = "diseases split by rule"
_TERM_COLUMNS = ("#", "R", "P", "F1")  # of Table 3
_FORMS = {"doctor_diagnosis", "dialog_history", "final_turn"}  # one of these names each file's form


def doctors(release: Release, terms: Path | None) -> list[Cell]:
    """Compute the grades and the linked diseases of each doctor.

    Args:
        release: the clone.
        terms: the list of ICD-10 terms; the first .xls of the clone if None. Without one there is no Table 3.

    Raises:
        TermListError: the list of terms cannot be read.
    """
    graded: dict[str, dict[str, Found]] = {}
    linked: dict[str, dict[str, Found]] = {}
    paper = published("ai_hospital")
    kinds = [
        (file, row, kind_of(file)) for file, row in release.named_files(paper, lambda first: bool(_FORMS & {*first}))
    ]
    references: dict[str, Reference] = {}
    for file in release.data_files():
        if {"medical_record", "doctor_diagnosis"} & first_record(file).keys():
            references |= read_references(file)[0]
    terms = terms or next(iter(sorted(release.source.rglob("*.xls"))), None)
    listed = load_terms(terms) if terms else None
    release.notes.append(
        "Diseases are split by rule here; the authors had a model split them and name them in standard terms."
    )
    if listed is None:
        release.notes.append(
            "Table 3 is not computed: the source has no list of ICD-10 terms (.xls); name one with --terms."
        )
    # Reports are linked from their own file, if there is one, rather than from the director's evaluations.
    for file, row, kind in sorted(kinds, key=lambda each: each[2] is Evaluation):
        release.files.setdefault(row, []).append(release.name_of(file))
        if kind is Evaluation:
            graded[row] = _grades(file)
        if listed is None or row in linked:
            continue
        reports = [(one, one.reference or references.get(one.patient_id)) for one in read_reports(file).records]
        if any(wanted is None for _, wanted in reports):
            release.notes.append(
                f"{file.name}: Table 3 is not computed: the source does not have a reference for every patient."
            )
            continue
        linked[row] = _linked_terms([(one, wanted) for one, wanted in reports if wanted], listed)
        if incomplete := len(reports) - linked[row]["#"].n:
            release.notes.append(
                f"Table 3, {row}: as published, {counted(incomplete, 'report')} without both headings left out, as by "
                "the authors; n counts the others. Ours, sound, has all."
            )
    cells: list[Cell] = []
    for table, columns, found, digits in (("Table 2", PARTS, graded, 3), ("Table 3", _TERM_COLUMNS, linked, 2)):
        printed = {
            (row, name): value
            for row, values in paper[table].items()
            for name, value in zip(columns, values, strict=True)
            if not math.isnan(value)
        }
        cells += cells_of(table, printed, found, Printing(digits=digits))
    return cells


def _grades(file: Path) -> dict[str, Found]:
    """Return the means of each part as the director graded it (Table 2)."""
    records = read_evaluations(file).records
    paper, sound = (
        score_parts([released_grades(one, published=mode) for one in records], published=mode) for mode in (True, False)
    )
    return {part: Found(one.mean, sound[part].mean, one.n) for part, one in paper.items()}


def _linked_terms(reports: Sequence[tuple[Report, Reference]], terms: TermList) -> dict[str, Found]:
    """Link the diagnoses of reports to terms (Table 3); like the authors, leave out reports without both headings."""

    def measured(chosen: Iterable[tuple[Report, Reference]], rule: Rule) -> tuple[Estimate, ...]:
        cases = [
            DiseaseCase(
                one.patient_id,
                split_by_rule(sections(one.report).get("diagnosis", ""), terms),
                split_by_rule(wanted.diagnosis or "", terms),
            )
            for one, wanted in chosen
        ]
        return predicted_entities(cases), *agreement(cases, terms, rule).columns.values()

    complete = [each for each in reports if all(head in each[0].report for head in ("#诊断结果#", "#诊断依据#"))]
    columns = zip(_TERM_COLUMNS, measured(complete, "published"), measured(reports, "code"), strict=True)
    return {name: Found(ours.mean, sound.mean, len(complete), reason=_BY_MODEL) for name, ours, sound in columns}
