"""Whether a diagnosis can be this patient's: what it presupposes, how long it lasts, and what results deny."""

import math
import re
from functools import cache, lru_cache
from typing import Any

from cases.sexes import bound_to_sex
from cases.text.demographics import without_ages
from cases.text.numbers import spans_of_time
from cases.text.statements import mentions, statements
from cases.text.words import has_chinese
from cases.vocabulary import Language, compiled, data_file, patterns, word_list
from nodes.offline.chart_signs import (
    ADULT_FROM,
    CHILD_FROM,
    affirms,
    came_just_now,
    found_text,
    matches,
    told_and_found,
    words_affirmed,
)
from nodes.offline.orders import organs_of
from nodes.state.chart import Chart, said_by
from retrieval import RememberedCase

_SIDES = {"left": re.compile(r"\bleft\b|左", re.IGNORECASE), "right": re.compile(r"\bright\b|右", re.IGNORECASE)}
_CLAUSE = re.compile(r"[,，]|\band (?=(?:the|there|no|left|right)\b)|\b(?:but|while)\b", re.IGNORECASE)
_CLAUSE_MARK = re.compile(r"[.;,。；，\n]")
NORMAL = ("normal", "正常")
_PATTERNS = patterns("nodes.offline", "patterns")


def contradicts(case: RememberedCase, chart: Chart) -> bool:
    """Whether a case's diagnosis cannot be this patient's.

    Sex, age group, or results that deny the diagnosis or its side can rule it out, and malignant cells a benign growth.
    """
    patient = chart.presentation
    if case.sex != patient.sex and patient.sex and bound_to_sex("; ".join(case.diagnosis), patient.sex, case.language):
        return True
    known_ages = [years for years in (case.age_years, patient.age_years) if years is not None]
    if len({*map(_age_group, known_ages)}) > 1:
        return True
    results = found_text(chart)
    sides = _sides_in("; ".join(case.diagnosis[:1]))
    if sides and (found := _sides_with_findings(results)) and not sides & found:
        return True
    if any(
        matches(named, name) != is_wanted for named, is_wanted in _said_by_tests(results) for name in case.diagnosis[:1]
    ):
        return True
    if _PATTERNS["benign_growth"].search("; ".join(case.diagnosis[:1])) and affirms(results, "malignant_cells"):
        return True
    if has_chinese("".join(case.diagnosis[:1])) and not has_chinese(results):
        return False  # a Chinese name cannot match other results, and splitting it would load a dictionary
    named = {word for name in case.diagnosis[:1] for word in _words(name)}
    return bool(named) and named <= _denied_words(results)


def is_founded(diagnosis: str, chart: Chart) -> bool:
    """Whether all that a diagnosis presupposes is told or found: a growth, an injury, a drug that it is named after.

    Neither must other organs be told or found than those that it names, nor the complaint be of the other side, nor
    have lasted too long or too short a time for it, nor have come by an injury just now that it is not named for, nor
    the patient be too young for it.
    """
    sides, complained = _sides_in(diagnosis), _sides_in(chart.presentation.chief_complaint)
    if sides and complained and not sides & complained:
        return False
    words = told_and_found(chart)
    organs, others = _organs_in(diagnosis), _organs_in(words_affirmed(words, chart.presentation.language))
    if organs and others and not organs & others:
        return False
    if not (_fits_the_course(diagnosis, chart) and _follows(diagnosis, chart)):
        return False
    told = _told_causes(words, chart.presentation.chief_complaint, chart.presentation.language)
    age = math.inf if chart.presentation.age_years is None else chart.presentation.age_years
    drugs = (max(filter(None, found.groups())) for found in _PATTERNS["by_a_drug"].finditer(diagnosis))
    return all(drug.casefold() in words.casefold() for drug in drugs) and all(
        place in told and cause.get("youngest", 0) <= age
        for place, cause in enumerate(_causes())
        if matches(cause["named"], diagnosis)
    )


@lru_cache(maxsize=64)  # hundreds of cases are compared with one chart
def _told_causes(words: str, complaint: str, language: Language) -> frozenset[int]:
    told, complained = words_affirmed(words, language), words_affirmed(complaint, language)
    return frozenset(
        place
        for place, cause in enumerate(_causes())
        if matches(cause["told"], complained if "complained" in cause else told)
    )


@lru_cache(maxsize=2048)  # the diagnoses of hundreds of cases are read for each chart
def _organs_in(text: str) -> frozenset[str]:
    return frozenset(name for name, _ in organs_of(text))


def _fits_the_course(diagnosis: str, chart: Chart) -> bool:
    """Whether the complaint can have lasted as long as it has, if this is what it is.

    Of several times told, any may be the one that counts; where none is told, or it has come up just now, nothing
    speaks against it.
    """
    lasting = _days_told(chart)
    courses = [
        each
        for each in _causes("course")
        if matches(each["named"], diagnosis) and not (each["except"] and matches(each["except"], diagnosis))
    ]
    too_long = not came_just_now(chart) and any(
        min(lasting, default=0) > each.get("longest", math.inf) for each in courses
    )
    return not too_long and not any(max(lasting, default=math.inf) < each.get("shortest", 0) for each in courses)


def _days_told(chart: Chart) -> list[float]:
    """Return the times of the complaint, or else of the patient's first words, in days."""
    first = said_by("patient", chart.dialogue)[:1]
    texts = (chart.presentation.chief_complaint, *first)
    return next((days for text in texts if (days := _days_in(text))), [])


@lru_cache(maxsize=256)  # asked for with each similar case
def _days_in(text: str) -> list[float]:
    return [span.days for span in spans_of_time(without_ages(text))]


def _follows(diagnosis: str, chart: Chart) -> bool:
    """Whether a diagnosis is named for the injury with which the patient comes just now, if there is one."""
    complaint = chart.presentation.chief_complaint
    return not came_just_now(chart) or all(
        matches(each["named"], diagnosis) for each in _causes("consequence") if matches(each["told"], complaint)
    )


@lru_cache(maxsize=64)  # hundreds of cases are compared with one chart
def _said_by_tests(results: str) -> list[tuple[str, bool]]:
    """Return the patterns of diagnoses that a named test proves (true) or denies (false)."""
    said: list[tuple[str, bool]] = []
    for test in _causes("test"):
        outcomes = _outcomes(test["test"], results)
        if "positive" in outcomes:
            said += [(test["proves"], True)] if "proves" in test else []
        elif "negative" in outcomes and "denies" in test:
            said.append((test["denies"], False))
    return said


def proved_by_tests(chart: Chart) -> list[str]:
    """Return the diseases that positive tests prove, in the patient's language, or else in English."""
    results, language = found_text(chart), chart.presentation.language
    named = ((test["test"], test["names"]) for test in _causes("test") if "names" in test)
    return [names.get(language, names["en"]) for test, names in named if "positive" in _outcomes(test, results)]


def _outcomes(test: str, results: str) -> set[str | None]:
    """Return what results say of a test wherever they name it."""
    return {_outcome(results, *found.span()) for found in compiled(test, re.IGNORECASE).finditer(results)}


def _outcome(results: str, start: int, end: int) -> str | None:
    """Return what results say of the test that is named there: positive, negative, unknown yet, or nothing of these.

    What was found earlier or in somebody else, and what is in doubt, is nothing of these.
    """
    before = results[:start][-40:]
    if _PATTERNS["no_result_of_now"].search(_CLAUSE_MARK.split(before)[-1] + _CLAUSE_MARK.split(results[end:][:60])[0]):
        return None
    if _PATTERNS["negative_before"].search(before):
        return "negative"
    if _PATTERNS["positive_before"].search(before):
        return "positive"
    after = _PATTERNS["outcome"].search(results[end:][:60])
    return after.lastgroup if after else None


@cache
def _causes(kind: str = "cause") -> list[dict[str, Any]]:
    causes: list[dict[str, Any]] = data_file("nodes.offline", "causes")[kind]
    return causes


@lru_cache(maxsize=64)  # hundreds of cases are compared with one chart
def _denied_words(text: str) -> frozenset[str]:
    """Return the words that results deny and nowhere affirm."""
    found = [each for statement in statements(text) for each in mentions(statement)]
    return frozenset(each.word for each in found if each.negated) - {each.word for each in found if not each.negated}


@lru_cache(maxsize=64)
def _sides_with_findings(text: str) -> frozenset[str]:
    """Return the sides on which results find something; if there is none, all sides that they name."""
    clauses = (clause for statement in statements(text) for clause in _CLAUSE.split(statement))
    return frozenset(side for clause in clauses for side in _side_with_finding(clause)) or _sides_in(text)


def _side_with_finding(clause: str) -> frozenset[str]:
    """Return the one side on which a clause finds something; empty if it finds things normal or names several."""
    mentioned = mentions(with_normal_words(clause))
    if any(mention.word in NORMAL and not mention.negated for mention in mentioned):
        return frozenset()
    positive = [mention.sides for mention in mentioned if mention.negated == (mention.word in NORMAL)]
    return next((sides for sides in positive if len(sides) == 1), frozenset())


def with_normal_words(text: str) -> str:
    """Return a text in which all that calls a finding normal (clear, intact, 如常) says "normal"."""
    return _normal_pattern().sub(" normal ", text)


@cache
def _normal_pattern() -> re.Pattern[str]:
    english, chinese = word_list("finding_terms")["findings"]["normal"]
    return re.compile(f"(?<![a-z])(?:{english})|{chinese}", re.IGNORECASE)


@lru_cache(maxsize=1 << 14)  # diagnoses of remembered cases recur
def _words(name: str) -> frozenset[str]:
    return frozenset(mention.word for mention in mentions(name))


@lru_cache(maxsize=1 << 12)
def _sides_in(text: str) -> frozenset[str]:
    """Return the sides that a text names."""
    return frozenset(side for side, pattern in _SIDES.items() if pattern.search(text))


def _age_group(years: float) -> str:
    """Return newborn, child or grown; their diseases hardly overlap."""
    return "newborn" if years < CHILD_FROM else "child" if years < ADULT_FROM else "grown"
