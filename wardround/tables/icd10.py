"""Diagnoses linked to ICD-10 terms (AI Hospital, section 3.2 and Table 3)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from cases.text.words import has_chinese
from cases.vocabulary import Language
from scoring.metrics.icd10 import DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, TermListError, load_terms
from scoring.mvme.disease_entities import entity_splitter, split_by_rule
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.table import SPREAD, Column, DoesNotFitError, Table, measured

TITLES: Mapping[Rule, str] = {"published": "Published", "code": "Full code", "category": "Category"}
_SPLITTERS = {
    "rule": "split by rule",
    "standard": "split by rule and renamed to the nearest term",
    "model": "split by a model",
}


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate recall, precision and F1 of the diseases in the reports, by the published rule and two sound ones.

    Raises:
        DoesNotFitError: no run wrote reports, or all cases are in languages for which no term list is included.
    """
    reporting = [run for run in runs if run.experiment.graph != "clinical_workflow"]
    if not reporting:
        raise DoesNotFitError("no run wrote reports (graphs consultation, one_step and dispute_resolution do)")
    rows: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}
    for run in reporting:
        for language in sorted({case.language for case in run.cases.values()}):
            name, cases = language_name(language), {each.id for each in run.cases.values() if each.language == language}
            terms = terms_for(run, language)
            if cases and terms is None:
                reason = f"{name} cases are left out: no {name} list of terms is included (set data.terms = FILE)"
                left_out[reason] = max(left_out.get(reason, 0), len(cases))
            elif cases and terms is not None:
                diseases, unsplit = diseases_of(run, terms, cases)
                rows.append({"run": run.name, "language": name, "cases": len(diseases), **_measured(diseases, terms)})
                if unsplit:
                    left_out[f"cases of {run.name} are left out: the splitter gave no answer"] = unsplit
    if not rows:
        names = sorted({language_name(case.language) for run in reporting for case in run.cases.values()})
        raise DoesNotFitError(
            f"all cases are {' or '.join(names)}, and no {' or '.join(names)} list of terms is included; "
            "name one with --set data.terms=FILE, "
            "or use `wardround score icd10 RUN --terms FILE`"
        )
    has_languages = len({row["language"] for row in rows}) > 1
    columns = [
        Column("run", "Run", key=True),
        *([Column("language", "Cases in", key=True)] if has_languages else []),
        Column("cases", "Cases"),
        Column("entities", "#", mean=True),
        *(Column(f"{rule}_{part}", part, TITLES[rule], mean=True) for rule in TITLES for part in ("R", "P", "F1")),
    ]
    lists = sorted({run.experiment.data.terms or "ICD-10-CM" for run in reporting})
    splitters = sorted({_SPLITTERS[run.experiment.data.splitter] for run in reporting})
    notes = [
        "#: diseases named in a report. Recall, precision and F1 in percent, over the diseases of all cases.",
        f"Diseases are {' or '.join(splitters)}, and linked to the names in {', '.join(lists)}.",
        *(f"{count} {reason}." for reason, count in left_out.items()),
    ]
    caption = f"Link-based evaluation of the diagnoses. {SPREAD}."
    return [Table("icd10", "Diagnoses linked to ICD-10", columns, rows, notes, caption)]


def language_name(language: Language) -> str:
    """Return the English name of a built-in language, or the tag of another."""
    return {"en": "English", "zh": "Chinese"}.get(language, language)


def _measured(cases: Sequence[DiseaseCase], terms: TermList) -> dict[str, float | None]:
    found = {"entities": predicted_entities(cases)}
    for rule in TITLES:
        found |= {f"{rule}_{name}": one for name, one in agreement(cases, terms, rule).columns.items()}
    return measured(found)


def is_english(language: Language) -> bool:
    """Whether a language is English, of whatever country."""
    return language.partition("-")[0] == "en"


def terms_for(run: RecordedRun, language: Language) -> TermList | None:
    """Return the term list for a language: the run's own if it may be in it, else the built-in one, if any.

    It can be told of a list only whether it is Chinese (or Japanese). Any other is of the language of the run that has
    no list of its own, if there is one, and else English.
    """
    if own := run.experiment.data.terms:
        terms = _terms(own)
        is_chinese = sum(map(has_chinese, terms.names)) * 2 > len(terms)
        languages = {case.language for case in run.cases.values()}
        if language == "zh":
            fits = is_chinese
        elif is_english(language):
            fits = not is_chinese and all(each == "zh" or is_english(each) for each in languages)
        else:
            fits = not (is_chinese and "zh" in languages)
        if fits:
            return terms
    return _terms(ICD10CM) if is_english(language) else None


@lru_cache(maxsize=3)
def _terms(source: str) -> TermList:
    try:
        return load_terms(source)
    except TermListError as error:
        raise DoesNotFitError(str(error)) from error


def diseases_of(run: RecordedRun, terms: TermList, chosen: set[str]) -> tuple[list[DiseaseCase], int]:
    """Return the diseases of every scored case in ``chosen``, and the number of cases without the splitter's answer.

    A missing report names none.
    """
    splitter = run.experiment.data.splitter
    found: list[DiseaseCase] = []
    unsplit = 0
    for result in run.each_answered():
        if not (result.scored and result.case_id in chosen and (reference := run.cases[result.case_id].key.diagnosis)):
            continue
        named = {"report": result.answers.diagnosis if result.answers else [], "reference": reference}
        if splitter == "model":
            split = _split_by_model(run, result) | ({} if named["report"] else {"report": []})
        else:
            as_standard = splitter == "standard"
            split = {at: split_by_rule("\n".join(names), terms, standard=as_standard) for at, names in named.items()}
        if named.keys() <= split.keys():
            found.append(DiseaseCase(result.case_id, split["report"], split["reference"]))
        else:
            unsplit += 1
    return found, unsplit


def _split_by_model(run: RecordedRun, result: Result) -> dict[str, list[str]]:
    """Return the splitter's answers from when the case was scored, for the report and the reference."""
    calls = run.trace(result).calls
    return {
        call.id.rpartition("/")[2]: list(dict.fromkeys(call.answer["diseases"]))
        for call in calls
        if call.role == entity_splitter.name and call.error is None and isinstance(call.answer, dict)
    }
