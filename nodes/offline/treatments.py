"""For which treatments a patient gives a reason."""

import re

from cases.text.statements import statements
from cases.vocabulary import Language, patterns
from nodes.offline.chart_signs import affirms, found_text, is_negated, told_and_found, words_affirmed
from nodes.offline.places import sites
from nodes.state.chart import Chart

_FOR_A_DIAGNOSIS = {  # treatments with real dangers, and the patterns of findings that call for each
    "Surgery": ("to_be_mended", "calls_for_an_operation"),
    "Interventional Therapy": ("to_be_mended",),
    "Radiation Therapy": ("malignant", "takes_up"),
    "Chemotherapy": ("malignant",),
    "Immunotherapy": ("malignant", "of_antibodies"),
}
_MOVED = ("Spine and Limb Examination", "Neurological Examination", "Neck Examination", "Skin Examination")
_PART = re.compile(", |，")  # a statement of vital signs has many
_PATTERNS = patterns("nodes.offline", "patterns")


def untreated_without_a_diagnosis(chart: Chart) -> list[str]:
    """Return the treatments for which a complaint gives no reason without a diagnosis, or a case of it to go by.

    Operations are only for what nothing else mends, and what else harms for no complaint alone. Psychotherapy is for a
    complaint of the mind, physical therapy for one of limbs, back, head and skin alone, antibiotics for signs of an
    infection, told or found, and traditional Chinese medicine for those who were referred to it.
    """
    places = sites(chart)
    of_the_mind = any(site["department"] == "Psychiatry" for site in places)
    of_movement = all(site.get("examination") in _MOVED for site in places)
    told = words_affirmed(told_and_found(chart), chart.presentation.language)
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
    found, complaint = found_text(chart), chart.presentation.chief_complaint
    return affirms(found, "calls_for_an_operation") or affirms(complaint, "loses_sight_by_a_curtain")


def called_for_by_signs(text: str, language: Language) -> dict[str, str]:
    """Return the treatments that signs in a text call for without any diagnosis, each with the words on the sign.

    These are antibiotics, for signs of an infection that are not denied.
    """
    for statement in statements(text):
        told = words_affirmed(statement, language)
        signs = _PATTERNS["of_an_infection"].finditer(told)
        if sign := next((sign[0] for sign in signs if not is_negated(told, sign.start())), ""):
            parts = [part for part in _PART.split(statement) if not _PATTERNS["goes_on"].match(part)]
            return {"Antibiotic Therapy": next((part for part in parts if sign in part), statement)}
    return {}


def without_a_finding(chart: Chart) -> list[str]:
    """Return the treatments with real dangers for which no result or report of this patient gives a reason.

    Whatever a remembered case had: an operation is for what can be mended, radiation for a malignant growth or a gland
    that takes up too much, chemotherapy for a malignant growth, immunotherapy for one or for antibodies.
    """
    found = found_text(chart)
    return [item for item, names in _FOR_A_DIAGNOSIS.items() if not any(affirms(found, name) for name in names)]
