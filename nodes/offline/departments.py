"""Which departments and clinics are for a patient, and to which nobody goes without a reason."""

from collections.abc import Mapping
from functools import cache, lru_cache

from cases.text.words import rules_of
from cases.vocabulary import SECOND_LEVEL, data_file, patterns
from nodes.offline.chart_signs import ADULT_FROM, CHILD_FROM, carries_a_child, urgency
from nodes.offline.places import is_told, of_organs, sites
from nodes.state.chart import Chart

_PAEDIATRIC_UNTIL, _OLD_FROM = 18.0, 60.0  # years
_FEW_WORDS = {"en": 8, "zh": 16}  # words, characters: a complaint of so few is like many cases
_PATTERNS = patterns("nodes.offline", "patterns")


def admits(department: str | None, chart: Chart) -> bool:
    """Whether age, sex, urgency and place fit the department or clinic; so does a sex that is not known.

    A patient of unknown age is a child if the words are of a child's parents, else an adult. A department for some
    organs, as for the eyes, is not for complaints of others, and a clinic for few, as for poisoning, for none without
    a word of it.
    """
    patient, name = chart.presentation, department or ""
    years = patient.age_years
    if name in _clinics_for_few() and name not in clinics_of_the_words(chart):
        return False
    if name in of_organs() and name not in departments_named(chart) and not _has_a_clinic_of_the_words(name, chart):
        return False
    if patient.sex == "male" and _is_for("women", name):
        return False
    if name == "Emergency Medicine" and urgency(chart) == "routine":
        return False
    for_children = _is_for("children", name)
    if years is None:
        return not for_children or _PATTERNS["of_a_child"].search(chart.patients_words) is not None
    if for_children:
        return years < (CHILD_FROM if name == "Neonatology" else _PAEDIATRIC_UNTIL)
    return years >= (_OLD_FROM if "Geriatric" in name else ADULT_FROM if _is_for("adults", name) else 0)


@lru_cache(maxsize=4096)  # asked for each similar case
def _is_for(whom: str, department: str) -> bool:
    return _PATTERNS[f"for_{whom}"].search(department) is not None


def clinics_of_the_words(chart: Chart) -> frozenset[str]:
    """Return the clinics to which words of the complaint send a patient."""
    return _told_clinics(chart.presentation.chief_complaint, rules_of(chart.presentation.language))


@lru_cache(maxsize=256)  # asked for with each similar case
def _told_clinics(complaint: str, language: str) -> frozenset[str]:
    table = data_file("nodes.offline", "clinics")["clinic"]
    return frozenset(name for name, clinic in table.items() if is_told(clinic, complaint, language))


@cache
def _clinics_for_few() -> frozenset[str]:
    table = data_file("nodes.offline", "clinics")["clinic"]
    return frozenset(name for name, clinic in table.items() if "only" in clinic)


def _has_a_clinic_of_the_words(department: str, chart: Chart) -> bool:
    """Whether the complaint names no place, and its words send the patient to a clinic of the department."""
    return not sites(chart) and any(name in SECOND_LEVEL[department].names for name in clinics_of_the_words(chart))


def departments_named(chart: Chart) -> list[str]:
    """Return the departments for the places of the complaint; obstetrics too for a woman who carries a child."""
    births = ["Obstetrics and Gynecology"] if carries_a_child(chart) else []
    return [*births, *(site["department"] for site in sites(chart))]


def departments_of_the_place(chart: Chart) -> list[str]:
    """Return the departments for the places of the complaint, paediatrics where they are for adults; may be empty.

    What is alarming and severe or sudden goes to the emergency department.
    """
    complaint = chart.presentation.chief_complaint.casefold()
    if _PATTERNS["emergency"].search(complaint) and _PATTERNS["urgent"].search(complaint):
        return ["Emergency Medicine"]
    named = departments_named(chart)
    if not admits("General Medicine", chart):
        named = [name if admits(name, chart) else "Pediatrics" for name in named]
    return list(dict.fromkeys(name for name in named if admits(name, chart)))


def sent_to() -> Mapping[str, Mapping[str, str]]:
    """Return the departments to which others send patients, or these go by a wish, with words that give a reason."""
    return data_file("nodes.offline", "sent_to")


def without_a_reason(chart: Chart) -> frozenset[str]:
    """Return the departments to which others send patients, without those for which this patient tells a reason.

    Few words give none, and in an emergency nobody is sent there. Traditional Chinese medicine is for nothing urgent.
    """
    how_soon = urgency(chart)
    if has_few_words(chart) or how_soon == "emergency":
        return frozenset(sent_to())
    rules = rules_of(chart.presentation.language)
    unasked = (name for name, words in sent_to().items() if not is_told(words, chart.patients_words, rules))
    return frozenset(unasked) | ({"Traditional Chinese Medicine"} if how_soon == "urgent" else frozenset())


def has_few_words(chart: Chart) -> bool:
    """Whether the complaint is too short for one remembered case to be more like it than others ("Fever for a week").

    How long it has lasted does not count.
    """
    language = rules_of(chart.presentation.language)
    complaint = _PATTERNS["lasted"].sub("", chart.presentation.chief_complaint)
    return len(complaint if language == "zh" else complaint.split()) <= _FEW_WORDS[language]
