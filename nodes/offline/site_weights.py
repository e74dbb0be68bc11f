"""What the site of the complaint adds to the vote of similar cases for a department, an examination or a treatment."""

from collections.abc import Callable, Sequence

from cases.vocabulary import PHYSICAL_ITEMS, SECOND_LEVEL
from nodes.offline.chart_signs import carries_a_child, harms, is_newborn, urgency
from nodes.offline.departments import (
    admits,
    clinics_of_the_words,
    departments_of_the_place,
    has_few_words,
    sent_to,
    without_a_reason,
)
from nodes.offline.places import is_of_the_skin, of_organs, sites, usually_needed
from nodes.offline.treatments import calls_for_an_operation
from nodes.state.chart import Chart
from nodes.state.decisions import AuxiliaryOrders, Decision, PhysicalOrders, SubDepartments, Treatment, Triage
from nodes.workflow.stages import Stage

# Added for a department of a long complaint, for the only one if it is for some organs alone, or for the skin (as the
# back or limb of other cases says little), and for an emergency's.
PLACE, ORGAN, SKIN, EMERGENCY = 0.03, 0.1, 0.4, 0.1
# Added for imaging of the complaint's site; subtracted for examinations of other sites.
SITE = 0.2
SURE = 2 * SITE  # added for the examination and first picture of the site, and for its clinic
OPERATION = 1.0
FIRST_PICTURES = ("X-ray", "Ultrasound")  # need no similar case that had them, as they burden little


def added_by_site(stage: Stage, chart: Chart) -> dict[str, float]:
    """Return what the site of the complaint adds to the vote for each choice of a stage, or takes from it."""
    weights_of = _WEIGHTS.get(stage.decision)
    return weights_of(chart) if weights_of else {}


def needed_by_site(stage: Stage, chart: Chart) -> list[str]:
    """Return what the site of the complaint needs as a rule: its examination, its first picture, tests of its signs."""
    return [item for item, weight in added_by_site(stage, chart).items() if weight == SURE]


def _of_departments(chart: Chart) -> dict[str, float]:
    if carries_a_child(chart):
        return {"Obstetrics and Gynecology": SURE}
    if is_newborn(chart):
        return {"Pediatrics": SURE}
    of_place, is_emergency = departments_of_the_place(chart), urgency(chart) == "emergency"
    if has_few_words(chart):
        of_none = "General Medicine" if admits("General Medicine", chart) else "Pediatrics"
        of_none = "Emergency Medicine" if is_emergency and of_none != "Pediatrics" else of_none
        return dict.fromkeys(of_place, SURE) or {of_none: SITE}
    return dict.fromkeys(of_place, _of_a_long_complaint(of_place, chart)) | (
        {"Emergency Medicine": EMERGENCY} if is_emergency else {}
    )


def _of_a_long_complaint(of_place: Sequence[str], chart: Chart) -> float:
    sent_elsewhere = sent_to().keys() - without_a_reason(chart)
    if len(of_place) != 1 or of_place[0] not in of_organs() or sent_elsewhere:
        return PLACE
    return SKIN if is_of_the_skin(chart) else ORGAN


def _of_clinics(chart: Chart) -> dict[str, float]:
    if carries_a_child(chart):
        return {"Obstetrics": SURE}
    if is_newborn(chart):
        return {"Neonatology": SURE} if chart.department == "Pediatrics" else {}
    clinics = SECOND_LEVEL[chart.department].names if chart.department in SECOND_LEVEL else ()
    of_the_place = {clinic for site in sites(chart) for clinic in site.get("clinics", ())}
    here = set(clinics) & clinics_of_the_words(chart) or of_the_place
    return {clinic: SURE for clinic in clinics if clinic in here and admits(clinic, chart)}


def _of_physical_examinations(chart: Chart) -> dict[str, float]:
    here = {*usually_needed(chart), *(site["examination"] for site in sites(chart) if "examination" in site)}
    elsewhere = PHYSICAL_ITEMS.names[1:]  # all but the general examination, which has no site
    return {item: SURE if item in here else -SITE for item in elsewhere} if here else {}


def _of_tests(chart: Chart) -> dict[str, float]:
    places = sites(chart)
    pictures = [item for site in places for item in site["pictures"]]
    first = [item for item in pictures[:1] if len(places) == 1 and item in FIRST_PICTURES]
    added = dict.fromkeys(pictures, SITE) | dict.fromkeys([*usually_needed(chart), *first], SURE)
    return {item: weight for item, weight in added.items() if not harms(item, chart)}


def _of_treatments(chart: Chart) -> dict[str, float]:
    return {"Surgery": OPERATION} if calls_for_an_operation(chart) else {}


_WEIGHTS: dict[type[Decision], Callable[[Chart], dict[str, float]]] = {
    Triage: _of_departments,
    SubDepartments: _of_clinics,
    PhysicalOrders: _of_physical_examinations,
    AuxiliaryOrders: _of_tests,
    Treatment: _of_treatments,
}
