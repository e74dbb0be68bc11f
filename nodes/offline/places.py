"""Where on the body a complaint is, and the examinations that it calls for (`sites.toml`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from cases.text.sentences import sentences
from cases.text.symptoms import describe_symptoms
from cases.text.words import rules_of
from cases.vocabulary import Language, data_file, label
from nodes.offline.chart_signs import harms, matches
from nodes.offline.record_answers import wants_examination
from nodes.state.chart import Chart, Turn
from prompts import mark

_FOR_THE_BODY = ("Internal Medicine", "Surgery")  # not for some organs alone
_NEED_NO_REASON = ("General Examination", "Blood Test")
_INVASIVE = ("Endoscopy", "Pathological Examination", "Nuclear Medicine Imaging")
_DENIES = re.compile(r"\b(?:no|not|nor|never|without|denie[sd])\b|[无没未否]", re.IGNORECASE)


def sites(chart: Chart) -> list[dict[str, Any]]:
    """Return the body sites of the complaint, each with its examination and usual imaging, in the table's order.

    If the complaint names none ("course of ten hours"), they are those of the first words of the patient's that name
    one and deny nothing.
    """
    return _told_sites(chart.presentation.chief_complaint, chart.patients_words, chart.presentation.language)


@lru_cache(maxsize=256)
def _told_sites(complaint: str, words: str, language: Language) -> list[dict[str, Any]]:
    rules = rules_of(language)
    if found := _sites(complaint, rules):
        return _where_the_skin_is(found) if any("alone" in site for site in found) else found
    told = (part for sentence in sentences(words) for part in re.split("[，；]", sentence))
    return next((found for part in told if not _DENIES.search(part) and (found := _sites(part, rules))), [])


def _where_the_skin_is(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sites without those where something on the skin only is: a limb, the chest or the belly."""
    return [each for each in found if "alone" in each or each["department"] not in _FOR_THE_BODY]


@lru_cache(maxsize=1024)  # called by each doctor of each stage
def _sites(complaint: str, language: str, kind: str = "site") -> list[dict[str, Any]]:
    return [site for site in data_file("nodes.offline", "sites")[kind] if is_told(site, complaint, language)]


def is_told(place: Mapping[str, Any], complaint: str, language: str) -> bool:
    """Whether a complaint has words of a place, sign or clinic; English ones are found at the start of a word."""
    start = "" if language == "zh" else r"(?<![a-z])"
    return matches(f"{start}(?:{place[language]})", complaint)


def is_of_the_skin(chart: Chart) -> bool:
    """Whether the complaint is of what is seen on the skin, wherever on the body."""
    return any("alone" in site for site in sites(chart))


def usually_needed(chart: Chart) -> list[str]:
    """Return the examinations that the signs of the complaint usually need, beside those of its place."""
    presentation = chart.presentation
    signs = _sites(presentation.chief_complaint, rules_of(presentation.language), "sign")
    return [item for sign in signs for item in sign.get("usual", ())]


def is_called_for(item: str, chart: Chart) -> bool:
    """Whether a symptom calls for an examination, by its place or as a sign without a place.

    The symptoms are those by which similar cases are found. The general examination and a blood test need none; where
    no symptom calls for anything, only tissue, scopes and isotopes do.
    """
    presentation = chart.presentation
    called = _called_for(presentation.chief_complaint, _told_before_tests(chart), presentation.language)
    return item in called or item in _NEED_NO_REASON or not (called or item in _INVASIVE)


def _told_before_tests(chart: Chart) -> str:
    """Return the patient's words until something is ordered; results that patients pass on later are no symptoms."""
    until = next((place for place, turn in enumerate(chart.dialogue) if _orders(turn)), None)
    return chart.patients_words if until is None else replace(chart, dialogue=chart.dialogue[:until]).patients_words


def _orders(turn: Turn) -> bool:
    return turn.speaker == "doctor" and wants_examination(turn.text)


@lru_cache(maxsize=256)  # asked of each item of each similar case
def _called_for(complaint: str, words: str, language: Language) -> frozenset[str]:
    symptoms, rules = describe_symptoms(words, language=language), rules_of(language)
    places = _sites(symptoms, rules) or _told_sites(complaint, words, language)
    if any("alone" in each for each in _sites(complaint, rules)):
        places = _where_the_skin_is(places)
    places = [each for each in places if "unplaced" not in each] or places
    signs = [
        *(each for each in _sites(symptoms, rules, "sign") if "complained" not in each),
        *(each for each in _sites(complaint, rules, "sign") if "complained" in each),
    ]
    examined = (place["examination"] for place in places if "examination" in place)
    return frozenset(
        chain(examined, *(place["pictures"] for place in places), *(each["also"] for each in places + signs))
    )


def usual_pictures(chart: Chart) -> list[str]:
    """Return the usual imaging for the sites of the complaint, or the most common imaging if no site is named.

    Sites that are examined by eye alone, such as the skin, the throat or the mind, need none.
    """
    places = sites(chart)
    imaging = [item for place in places for item in place["pictures"]]
    if not any("examination" in place or place["pictures"] for place in places):
        imaging = data_file("nodes.offline", "sites")["else"]
    return [item for item in dict.fromkeys(imaging) if not harms(item, chart)]


def order_of(items: Sequence[str], chart: Chart, separator: str = "series") -> str:
    """Return examinations as a doctor orders them for the place of the complaint, in the patient's language."""
    language = chart.presentation.language
    called = {item: names for place in sites(chart) for item, names in place.get("called", {}).items()}
    names = (
        called[item][rules_of(language)] if item in called else called_by_doctors(item, language) for item in items
    )
    return mark(separator, language).join(names)


def called_by_doctors(item: str, language: Language) -> str:
    """Return what doctors call an examination item in a language, whatever the place: in Chinese X-ray is X线检查."""
    called = data_file("nodes.offline", "sites")["called"].get(item, {})
    return str(called.get(language) or label(item, language))


@cache
def of_organs() -> frozenset[str]:
    """Return the departments that are each for some organs alone."""
    return frozenset(site["department"] for site in data_file("nodes.offline", "sites")["site"]) - set(_FOR_THE_BODY)
