"""Signs that the offline rules read from a chart: urgency, site of the complaint, named diseases, contradictions."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from cases.sexes import bound_to_sex
from cases.text.demographics import without_ages
from cases.text.numbers import spans_of_time
from cases.text.sentences import sentences
from cases.text.statements import mentions, statements
from cases.text.symptoms import affirmed, describe_symptoms
from cases.text.words import has_chinese, rules_of
from cases.vocabulary import SECOND_LEVEL, Language, compiled, data_file, label, normalise, patterns, word_list
from nodes.offline.orders import organs_of
from nodes.offline.record_answers import wants_examination
from nodes.state.chart import Chart, Turn, said_by
from prompts import cached_with_prompts, load_words, mark
from retrieval import RememberedCase

_NEWBORN_UNTIL, _CHILD_FROM, _ADULT_FROM = 28 / 365, 0.25, 14.0  # years
_PAEDIATRIC_UNTIL, _OLD_FROM = 18.0, 60.0
_CHILDREN_FROM = 12.0  # years, from which a woman may carry a child
_HARMS_THE_UNBORN = ("X-ray", "CT", "Nuclear Medicine Imaging", "Radiation Therapy", "Chemotherapy")
_FOR_A_DIAGNOSIS = {  # treatments with real dangers, and the patterns of findings that call for each
    "Surgery": ("to_be_mended", "calls_for_an_operation"),
    "Interventional Therapy": ("to_be_mended",),
    "Radiation Therapy": ("malignant", "takes_up"),
    "Chemotherapy": ("malignant",),
    "Immunotherapy": ("malignant", "of_antibodies"),
}
_MOVED = ("Spine and Limb Examination", "Neurological Examination", "Neck Examination", "Skin Examination")
_NEED_NO_REASON = ("General Examination", "Blood Test")
_FOR_THE_BODY = ("Internal Medicine", "Surgery")  # not for some organs alone
_INVASIVE = ("Endoscopy", "Pathological Examination", "Nuclear Medicine Imaging")
_FEW_WORDS = {"en": 8, "zh": 16}  # words, characters: a complaint of so few is like many cases
_SIDES = {"left": re.compile(r"\bleft\b|左", re.IGNORECASE), "right": re.compile(r"\bright\b|右", re.IGNORECASE)}
_CLAUSE = re.compile(r"[,，]|\band (?=(?:the|there|no|left|right)\b)|\b(?:but|while)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:no|not|nor|never|without|denie[sd])\b|[无没未否]", re.IGNORECASE)
_NORMAL = ("normal", "正常")
_PATTERNS = patterns("nodes.offline", "patterns")


def urgency(chart: Chart) -> str:
    """Return the urgency (emergency, urgent or routine) by the alarm words of what the patient does not deny.

    What has lasted for weeks, and has not changed just now, is no emergency. What a newborn has is urgent.
    """
    words = chart.patients_words
    told = _affirmed(words, chart.presentation.language).casefold()
    lasts = _PATTERNS["long_lasting"].search(words) and not _PATTERNS["just_now"].search(words)
    alarming = _PATTERNS["emergency"].search(told)
    if alarming and not lasts:
        return "emergency"
    return "urgent" if alarming or _is_below(_CHILD_FROM, chart) or _PATTERNS["urgent"].search(told) else "routine"


def is_newborn(chart: Chart) -> bool:
    """Whether the patient is known to be in the first four weeks of life."""
    return _is_below(_NEWBORN_UNTIL, chart)


def _is_below(years: float, chart: Chart) -> bool:
    age = chart.presentation.age_years
    return age is not None and age < years


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
        on_the_skin = any("alone" in site for site in found)  # then a limb, chest or belly is only where it is
        return [each for each in found if not on_the_skin or "alone" in each or each["department"] not in _FOR_THE_BODY]
    told = (part for sentence in sentences(words) for part in re.split("[，；]", sentence))
    return next((found for part in told if not _DENIES.search(part) and (found := _sites(part, rules))), [])


@lru_cache(maxsize=1024)  # called by each doctor of each stage
def _sites(complaint: str, language: str, kind: str = "site") -> list[dict[str, Any]]:
    return [site for site in data_file("nodes.offline", "sites")[kind] if _is_told(site, complaint, language)]


def _is_told(place: Mapping[str, Any], complaint: str, language: str) -> bool:
    """Whether a complaint has words of a place, sign or clinic; English ones are found at the start of a word."""
    start = "" if language == "zh" else r"(?<![a-z])"
    return _matches(f"{start}(?:{place[language]})", complaint)


def is_of_the_skin(chart: Chart) -> bool:
    """Whether the complaint is of what is seen on the skin, wherever on the body."""
    return any("alone" in site for site in sites(chart))


def usually_needed(chart: Chart) -> list[str]:
    """Return the examinations that the signs of the complaint usually need, beside those of its place."""
    presentation = chart.presentation
    signs = _sites(presentation.chief_complaint, rules_of(presentation.language), "sign")
    return [item for sign in signs for item in sign.get("usual", ())]


def clinics_of_the_words(chart: Chart) -> frozenset[str]:
    """Return the clinics to which words of the complaint send a patient."""
    return _told_clinics(chart.presentation.chief_complaint, rules_of(chart.presentation.language))


@lru_cache(maxsize=256)  # asked for with each similar case
def _told_clinics(complaint: str, language: str) -> frozenset[str]:
    table = data_file("nodes.offline", "clinics")["clinic"]
    return frozenset(name for name, clinic in table.items() if _is_told(clinic, complaint, language))


@cache
def _clinics_for_few() -> frozenset[str]:
    table = data_file("nodes.offline", "clinics")["clinic"]
    return frozenset(name for name, clinic in table.items() if "only" in clinic)


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
    """Return the usual imaging for the sites of the complaint, or the most common imaging if no site is named."""
    imaging = [item for site in sites(chart) for item in site["pictures"]] or data_file("nodes.offline", "sites")[
        "else"
    ]
    return [item for item in dict.fromkeys(imaging) if not harms(item, chart)]


def order_of(items: Sequence[str], chart: Chart) -> str:
    """Return examinations as a doctor orders them for the place of the complaint, in the patient's language."""
    language = chart.presentation.language
    anywhere = data_file("nodes.offline", "sites")
    called = {item: names for place in (anywhere, *sites(chart)) for item, names in place.get("called", {}).items()}
    names = (called[item][rules_of(language)] if item in called else label(item, language) for item in items)
    return mark("series", language).join(names)


def harms(item: str, chart: Chart) -> bool:
    """Whether an examination or treatment harms an unborn child, and the patient tells that she carries one."""
    return item in _HARMS_THE_UNBORN and carries_a_child(chart)


def carries_a_child(chart: Chart) -> bool:
    """Whether a woman tells that she is pregnant."""
    patient = chart.presentation
    may_carry = patient.sex != "male" and (patient.age_years is None or patient.age_years >= _CHILDREN_FROM)
    return may_carry and _tells_of_pregnancy(chart.patients_words)


@lru_cache(maxsize=256)  # asked of each department and examination of each similar case
def _tells_of_pregnancy(words: str) -> bool:
    return _PATTERNS["carries_a_child"].search(words) is not None


def untreated_without_a_diagnosis(chart: Chart) -> list[str]:
    """Return the treatments for which a complaint gives no reason without a diagnosis, or a case of it to go by.

    Operations are only for what nothing else mends, and what else harms for no complaint alone. Psychotherapy is for a
    complaint of the mind, physical therapy for one of limbs, back, head and skin alone, antibiotics for signs of an
    infection, told or found, and traditional Chinese medicine for those who were referred to it.
    """
    places = sites(chart)
    of_the_mind = any(site["department"] == "Psychiatry" for site in places)
    of_movement = all(site.get("examination") in _MOVED for site in places)
    told = _affirmed(_told_and_found(chart), chart.presentation.language)
    reasons = {
        **dict.fromkeys(_FOR_A_DIAGNOSIS, False),
        "Surgery": calls_for_an_operation(chart),
        "Psychological Therapy": of_the_mind,
        "Physical Therapy": of_movement,
        "Antibiotic Therapy": _PATTERNS["of_an_infection"].search(told) is not None,
        "Traditional Chinese Medicine": chart.department == "Traditional Chinese Medicine",
    }
    return [item for item, is_given in reasons.items() if not is_given]


def calls_for_an_operation(chart: Chart) -> bool:
    """Whether a result shows or the complaint tells what only an operation mends, whatever the illness is."""
    found, complaint = _found_text(chart), chart.presentation.chief_complaint
    return _affirms(found, "calls_for_an_operation") or _affirms(complaint, "loses_sight_by_a_curtain")


def called_for_by_signs(text: str, language: Language) -> dict[str, str]:
    """Return the treatments that signs in a text call for without any diagnosis, each with the statement of the sign.

    These are antibiotics, for signs of an infection that are not denied.
    """
    for statement in statements(text):
        if _PATTERNS["of_an_infection"].search(_affirmed(statement, language)):
            return {"Antibiotic Therapy": statement}
    return {}


def without_a_finding(chart: Chart) -> list[str]:
    """Return the treatments with real dangers for which no result or report of this patient gives a reason.

    Whatever a remembered case had: an operation is for what can be mended, radiation for a malignant growth or a gland
    that takes up too much, chemotherapy for a malignant growth, immunotherapy for one or for antibodies.
    """
    found = _found_text(chart)
    return [item for item, names in _FOR_A_DIAGNOSIS.items() if not any(_affirms(found, name) for name in names)]


@lru_cache(maxsize=256)  # asked by each doctor of a group
def _affirms(text: str, name: str) -> bool:
    """Whether a text has a pattern where it is not negated."""
    return any(not _is_negated(text, match.start()) for match in _PATTERNS[name].finditer(text))


def _is_negated(text: str, start: int) -> bool:
    """Whether what starts there is said not to be."""
    return _PATTERNS["negated"].search(text[:start][-50:]) is not None


def _found_text(chart: Chart) -> str:
    """Return all results and reports as one text."""
    return " ".join((*chart.results.values(), *chart.reports.values()))


def _told_and_found(chart: Chart) -> str:
    """Return what the patient told, with all results and reports."""
    return f"{chart.patients_words} {_found_text(chart)}"


@lru_cache(maxsize=64)  # the urgency is asked for with each similar case
def _affirmed(words: str, language: Language) -> str:
    """Return what words do not deny."""
    return " ".join(part for _, part in affirmed(words, language))


def known_findings(chart: Chart) -> list[str]:
    """Return the reports, then the results, each once, without those that tell of nothing found or described."""
    known = dict.fromkeys([*chart.reports.values(), *chart.results.values()])
    empty = _tells_nothing(chart.presentation.language)
    return [text for text in known if not empty.fullmatch(text.strip())]


@cached_with_prompts
def _tells_nothing(language: Language) -> re.Pattern[str]:
    """Return a pattern of what is said of an examination that is not on record, perhaps after its name."""
    examiners = (("ai_hospital/words", "examiner"), ("medpmc/words", "technician"))
    said = chain.from_iterable(load_words(words, language)[person].values() for words, person in examiners)
    nothing = [*said, load_words("medchain/words", language)["group"]["no_description"]]
    return re.compile(rf"(?:[^.;，。；:：]*[:：] ?)?(?:{'|'.join(map(re.escape, nothing))})")


def named_in_findings(chart: Chart) -> list[str]:
    """Return up to two diseases that a result or report names outright ("consistent with ..."), in order."""
    return _names(chart, "named")


def shown_in_findings(chart: Chart) -> list[str]:
    """Return up to two diseases that a report shows, in order: they may be the patient's lesser ones."""
    return _names(chart, "shown", "shown_in_english")


def _names(chart: Chart, *wordings: str) -> list[str]:
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in chain.from_iterable(_PATTERNS[wording].finditer(text) for wording in wordings):
            name = match["name"].strip()
            if not (_is_negated(text, match.start()) or _PATTERNS["no_name"].search(name)):
                names.setdefault(normalise(name), name)
    whole = [name for key, name in names.items() if not any(key in other and key != other for other in names)]
    return whole[:2]


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
        return years < _PAEDIATRIC_UNTIL
    return years >= (_OLD_FROM if "Geriatric" in name else _ADULT_FROM if _is_for("adults", name) else 0)


@lru_cache(maxsize=4096)  # asked for each similar case
def _is_for(whom: str, department: str) -> bool:
    return _PATTERNS[f"for_{whom}"].search(department) is not None


def departments_named(chart: Chart) -> list[str]:
    """Return the departments for the places of the complaint; obstetrics too for a woman who carries a child."""
    births = ["Obstetrics and Gynecology"] if carries_a_child(chart) else []
    return [*births, *(site["department"] for site in sites(chart))]


def _has_a_clinic_of_the_words(department: str, chart: Chart) -> bool:
    """Whether the complaint names no place, and its words send the patient to a clinic of the department."""
    return not sites(chart) and any(name in SECOND_LEVEL[department].names for name in clinics_of_the_words(chart))


@cache
def of_organs() -> frozenset[str]:
    """Return the departments that are each for some organs alone."""
    return frozenset(site["department"] for site in data_file("nodes.offline", "sites")["site"]) - set(_FOR_THE_BODY)


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
    unasked = (name for name, words in sent_to().items() if not _is_told(words, chart.patients_words, rules))
    return frozenset(unasked) | ({"Traditional Chinese Medicine"} if how_soon == "urgent" else frozenset())


def has_few_words(chart: Chart) -> bool:
    """Whether the complaint is too short for one remembered case to be more like it than others ("Fever")."""
    complaint, language = chart.presentation.chief_complaint, rules_of(chart.presentation.language)
    return len(complaint if language == "zh" else complaint.split()) <= _FEW_WORDS[language]


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


def contradicts(case: RememberedCase, chart: Chart) -> bool:
    """Whether a case's diagnosis cannot be this patient's.

    Sex, age group, or results that deny the diagnosis or its side can rule it out.
    """
    patient = chart.presentation
    if case.sex != patient.sex and patient.sex and bound_to_sex("; ".join(case.diagnosis), patient.sex, case.language):
        return True
    if (
        case.age_years is not None
        and patient.age_years is not None
        and _age_group(case.age_years) != _age_group(patient.age_years)
    ):
        return True
    results = _found_text(chart)
    sides = _sides_in("; ".join(case.diagnosis[:1]))
    if sides and (found := _sides_with_findings(results)) and not sides & found:
        return True
    if has_chinese("".join(case.diagnosis[:1])) and not has_chinese(results):
        return False  # a Chinese name cannot match other results, and splitting it would load a dictionary
    named = {word for name in case.diagnosis[:1] for word in _words(name)}
    return bool(named) and named <= _denied_words(results)


def is_founded(diagnosis: str, chart: Chart) -> bool:
    """Whether all that a diagnosis presupposes is told or found: a growth, an injury, a drug that it is named after.

    Neither must other organs be told or found than those that it names, nor the complaint be of the other side, nor
    have lasted too long or too short a time for it, nor have come by an injury just now that it is not named for.
    """
    sides, complained = _sides_in(diagnosis), _sides_in(chart.presentation.chief_complaint)
    if sides and complained and not sides & complained:
        return False
    words = _told_and_found(chart)
    organs, others = _organs_in(diagnosis), _organs_in(_affirmed(words, chart.presentation.language))
    if organs and others and not organs & others:
        return False
    if not (_fits_the_course(diagnosis, chart) and _follows(diagnosis, chart)):
        return False
    told = _told_causes(words, chart.presentation.chief_complaint, chart.presentation.language)
    drugs = (max(filter(None, found.groups())) for found in _PATTERNS["by_a_drug"].finditer(diagnosis))
    return all(drug.casefold() in words.casefold() for drug in drugs) and all(
        place in told for place, cause in enumerate(_causes()) if _matches(cause["named"], diagnosis)
    )


@lru_cache(maxsize=64)  # hundreds of cases are compared with one chart
def _told_causes(words: str, complaint: str, language: Language) -> frozenset[int]:
    told, complained = _affirmed(words, language), _affirmed(complaint, language)
    return frozenset(
        place
        for place, cause in enumerate(_causes())
        if _matches(cause["told"], complained if "complained" in cause else told)
    )


@lru_cache(maxsize=2048)  # the diagnoses of hundreds of cases are read for each chart
def _organs_in(text: str) -> frozenset[str]:
    return frozenset(name for name, _ in organs_of(text))


def _matches(wording: str, text: str) -> bool:
    return compiled(wording, re.IGNORECASE).search(text) is not None


def _fits_the_course(diagnosis: str, chart: Chart) -> bool:
    """Whether the complaint can have lasted as long as it has, if this is what it is.

    Of several times told, any may be the one that counts; where none is told, or it has come up just now, nothing
    speaks against it.
    """
    lasting = _days_told(chart)
    courses = [
        each
        for each in _causes("course")
        if _matches(each["named"], diagnosis) and not (each["except"] and _matches(each["except"], diagnosis))
    ]
    too_long = not _came_just_now(chart) and any(
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
    return not _came_just_now(chart) or all(
        _matches(each["named"], diagnosis) for each in _causes("consequence") if _matches(each["told"], complaint)
    )


def _came_just_now(chart: Chart) -> bool:
    return _PATTERNS["just_now"].search(chart.presentation.chief_complaint) is not None


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
    mentioned = mentions(_normal_pattern().sub(" normal ", clause))
    if any(mention.word in _NORMAL and not mention.negated for mention in mentioned):
        return frozenset()
    positive = [mention.sides for mention in mentioned if mention.negated == (mention.word in _NORMAL)]
    return next((sides for sides in positive if len(sides) == 1), frozenset())


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
    return "newborn" if years < _CHILD_FROM else "child" if years < _ADULT_FROM else "grown"


def reason(name: str, chart: Chart, *what: str) -> str:
    """Return the reason that a group member gives for weighing similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(word, word) for word in what)))


def undetermined(chart: Chart) -> str:
    """Return what an offline doctor writes who can name no disease: the complaint, as the patient's words."""
    return reason("undetermined", chart, chart.presentation.chief_complaint.rstrip(".。"))


def determined(names: Sequence[str], language: Language) -> list[str]:
    """Return the names of diseases, without "undetermined" beside them; all if there are none."""
    return diseases_of(names, language) or list(names)


def diseases_of(names: Iterable[str], language: Language) -> list[str]:
    """Return the names without those that say that no disease can be named."""
    return [name for name in names if not is_undetermined(name, language)]


def is_undetermined(name: str, language: Language) -> bool:
    """Whether an offline doctor's wording names no disease."""
    return name.startswith(load_words("medchain/words", language)["group"]["undetermined"].partition("{")[0])
