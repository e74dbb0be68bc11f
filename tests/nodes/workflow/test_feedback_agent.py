from dataclasses import replace

import pytest

from cases.vocabulary import DEPARTMENTS, TREATMENT_ITEMS
from nodes.offline.group_words import undetermined
from nodes.offline.votes import Evidence, objection
from nodes.state.decisions import Decision, Diagnosis, Treatment, Triage
from nodes.state.stage import Options
from nodes.workflow.feedback_agent import JudgeView, accept_unless_neighbours_disagree
from nodes.workflow.stages import STAGES, read_chart
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings


@pytest.mark.parametrize(("told", "accepted"), [(0.6, False), (0.1, True)])
def test_who_knows_no_near_case_does_not_object_to_a_diagnosis(told: float, accepted: bool) -> None:
    gout = RememberedCase(id="gout", verified=True, diagnosis=["Gout"])
    decision: Decision = Diagnosis(names=["Sepsis"], basis="Fever.")
    chart = read_chart(findings(), "diagnosis", None)  # type: ignore[arg-type]
    view = JudgeView(
        stage=STAGES["diagnosis"],
        chart=chart,
        image_class=None,
        options=Options((), "en"),
        neighbours=[Neighbour(gout, 0.5, told)],
        file=[],
        judge="treatment",
        decision=decision,
        reply="",
    )
    assert accept_unless_neighbours_disagree(view).accepted is accepted


def test_an_objection_names_what_is_missing_with_a_case_that_had_it_and_what_few_had() -> None:
    chart = replace(read_chart(findings(), "treatment", None), language="zh", results={"CT": "肿块。"})  # type: ignore[arg-type]
    case = RememberedCase(id="gout", verified=True, chief_complaint="脚趾痛。", treatment_items=["Surgery"])
    view = JudgeView(
        stage=STAGES["treatment"],
        chart=chart,
        image_class=None,
        options=Options(TREATMENT_ITEMS.names, "zh"),
        neighbours=[Neighbour(case, 0.5)],
        file=[],
        judge="follow_up",
        decision=Treatment(items=["Medication"], plan=""),
        reply="",
    )
    assert accept_unless_neighbours_disagree(view).reason == (
        "相似病例有而此处没有：手术（最接近者：“脚趾痛”）；相似病例少有：药物治疗"
    )


def test_each_later_physician_names_of_the_nearest_case_what_it_had_in_the_own_part() -> None:
    """The physicians of four later parts objected in the same words."""
    case = RememberedCase(
        id="gout",
        verified=True,
        chief_complaint="My toe hurts.",
        department="Internal Medicine",
        physical_examination={"General Examination": "-"},
        auxiliary_examination={"X-ray": "-"},
        diagnosis=["Gout"],
        treatment_items=["Medication"],
    )
    view = JudgeView(
        stage=STAGES["referral.level1"],
        chart=read_chart(findings(), "referral.level1", None),  # type: ignore[arg-type]
        image_class=None,
        options=Options(DEPARTMENTS.names, "en"),
        neighbours=[Neighbour(case, 0.9)],
        file=[],
        judge="",
        decision=Triage(urgency="routine", department="Dentistry"),
        reply="",
    )
    told = [
        accept_unless_neighbours_disagree(replace(view, judge=judge)).reason
        for judge in ("history_taking", "examination", "diagnosis", "treatment")
    ]
    missing = "missing here, and done or held in similar cases: Internal Medicine (nearest: “My toe hurts”"
    few = "; in few similar cases: Dentistry"
    withs = (", with: General Examination, X-ray", "", ", with: Gout", ", with: Medication")
    assert told == [f"{missing}{its}){few}" for its in withs]


def test_who_is_shown_no_similar_case_has_nothing_to_object_with() -> None:
    """After a strategy of experts, each later physician objected to a department five times, for the place alone."""
    chart = read_chart(findings(), "referral.level1", None)  # type: ignore[arg-type]
    view = JudgeView(
        stage=STAGES["referral.level1"],
        chart=chart,
        image_class=None,
        options=Options(DEPARTMENTS.names, "en"),
        neighbours=[],
        file=[],
        judge="treatment",
        decision=Triage(urgency="routine", department="Rehabilitation"),
        reply="",
    )
    assert accept_unless_neighbours_disagree(view).accepted


def test_an_objection_does_not_miss_that_a_diagnosis_is_undetermined() -> None:
    chart = read_chart(findings(), "diagnosis", None)  # type: ignore[arg-type]
    wanted = Diagnosis(names=[undetermined(chart)], basis="")
    assert objection(Evidence(STAGES["diagnosis"], chart, []), ["Gout"], wanted) == "in few similar cases: Gout"
