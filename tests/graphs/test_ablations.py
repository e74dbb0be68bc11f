"""What a switch removes is nowhere in a prompt, and whatever is switched, only the doctors' decisions are scored."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from cases import Case, PatientRecord, load_cases
from cases.impersonal import impersonal
from nodes.workflow.general_agent import Proposal, weigh_or_give_way
from retrieval import Neighbour, remember
from scoring.medchain.answers import Answers
from tests.graphs.scripting import builtin, calls, script, words
from tests.support.canaries import RECORD, canaries, planted
from tests.support.courses import COURSES, PATIENTS, SOME, Course, scored

CASE, OTHER = builtin("otolaryngology-01"), builtin("obstetrics-and-gynecology-01")
NOBODY = PatientRecord(chief_complaint="-").model_dump(exclude={"chief_complaint", "present_illness"})
SWITCHES = {
    "interactive": st.booleans(),
    "sequential": st.booleans(),
    "personalized": st.booleans(),
    "send_pictures": st.booleans(),
    "feedback": st.sampled_from(["downstream", "same_stage", "off"]),
    "general_agents": st.integers(1, 3),
    "max_backtracks": st.integers(0, 1),
    "patient": st.sampled_from(PATIENTS),
    "strategy": st.sampled_from(["group", "single"]),  # the rounds of others hold more than a decision
}


def from_the_key_of(other: Case) -> Any:
    """General agents who answer another case's key, whatever they are shown."""
    key = other.key
    answers: dict[str, dict[str, Any]] = {
        "referral.level1": {"urgency": "routine", "department": key.department},
        "referral.level2": {"sub_departments": key.sub_departments},
        "history_taking.physical": {"items": ["Skin Examination"]},
        "history_taking.auxiliary": {"items": ["CT"]},
        "examination": {"findings": "A finding of our own.", "impression": ""},
        "diagnosis": {"names": key.diagnosis, "basis": ""},
        "treatment": {"items": ["Radiotherapy"], "plan": ""},
    }

    def rule(view: Any) -> Proposal[Any]:
        return Proposal(decision=view.stage.decision.model_validate(answers[view.stage.name]), reasoning="")

    return rule


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize("interactive", [True, False])
@pytest.mark.parametrize("personalized", [True, False])
def test_a_doctor_who_answers_the_key_of_another_case_scores_what_that_key_is_worth(
    sequential: bool, interactive: bool, personalized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "general", from_the_key_of(OTHER))
    course = Course("clinical_workflow")
    quick = {"general_agents": 1, "feedback": "off", "max_backtracks": 0}
    switches = {"sequential": sequential, "interactive": interactive, "personalized": personalized}
    answers = Answers.of(course.run(CASE, **quick, **switches))
    assert answers.referral and answers.referral.department == OTHER.key.department
    assert scored("medchain", CASE, answers) == {
        "referral_level1": 0.0,
        "referral_level2": 0.0,
        "history_taking": pytest.approx(1 / len({*CASE.key.examination_items, "Skin Examination", "CT"})),
        "examination": 0.0,
        "diagnosis": 0.0,
        "treatment": 0.0,
    }


@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(switches=st.fixed_dictionaries(SWITCHES))
@example(switches={"sequential": False})
def test_whatever_is_switched_what_is_scored_is_what_the_doctors_decided_last(switches: dict[str, Any]) -> None:
    result = Course("clinical_workflow").run(CASE, **switches)
    answers, last = Answers.of(result), {}
    for record in result["decisions"]:  # in the order of the course
        last[record.stage] = record.rounds[-1].decision
    assert answers.referral
    assert answers.referral.department == last["referral.level1"]["department"]
    assert answers.referral.sub_departments == last["referral.level2"]["sub_departments"]
    assert answers.orders == [*last["history_taking.physical"]["items"], *last["history_taking.auxiliary"]["items"]]
    assert set(answers.reports) == {stage.partition(":")[2] for stage in last if stage.startswith("examination:")}
    for image_class, report in answers.reports.items():
        assert report.startswith(last[f"examination:{image_class}"]["findings"])
    assert answers.diagnosis == last["diagnosis"]["names"] and answers.treatment == last["treatment"]["items"]


PERSONAL = re.compile(
    r"\b(?:he|she|his|hers?|him|himself|herself|wom[ae]n|female|male|wife|husband|girl|boy)\b|[-\s]years?[-\s]old\b"
)


class OneEarlierCase:
    """A memory that recalls one case, of a person of another sex and age, with every history."""

    def recall(self, *_: Any, **__: Any) -> list[Neighbour]:
        return [Neighbour(remember(builtin("surgery-02")), 0.9)]


@pytest.mark.slow
@pytest.mark.parametrize("course", SOME, ids=str)
def test_without_personalization_no_prompt_tells_age_sex_occupation_or_a_history_of_anybody(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def memory_of(context: Any) -> OneEarlierCase:
        return OneEarlierCase()

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", memory_of)
    key = builtin("surgery-01").key  # a planted one can be run, but not remembered
    case = planted(builtin("surgery-01")).model_copy(update={"key": key})
    told = f"A 61-year-old woman, lighthouse keeper. {case.patient.present_illness} Her husband says she is 61."
    person = {"age_years": 61, "sex": "female", "occupation": "Lighthouse keeper", "present_illness": told}
    case = case.model_copy(update={"patient": case.patient.model_copy(update=person)})
    kept = canaries("\n".join((case.patient.chief_complaint, told)))
    result = course.run(case, personalized=False, interactive=False, retrieval=True)
    for call in calls(result):
        shown = words(call)
        assert {canary for canary in canaries(shown) if canary.startswith(RECORD)} <= kept, call.id
        assert not PERSONAL.findall(shown), call.id
        assert not re.search(r"lighthouse keeper|\b61\b", shown, re.IGNORECASE), call.id


@pytest.mark.slow
@pytest.mark.parametrize("course", COURSES[::3], ids=str)
def test_with_personalization_prompts_of_the_same_courses_tell_it(course: Course) -> None:
    result = course.run(planted(builtin("surgery-01")), interactive=False)
    assert any(PERSONAL.search(words(call)) for call in calls(result))


@pytest.mark.slow
def test_no_text_of_our_cases_has_a_word_of_one_sex_once_it_is_impersonal() -> None:
    for bare in map(impersonal, load_cases()):
        check_impersonal(bare)


def check_impersonal(bare: Case) -> None:
    assert bare.patient.model_dump(exclude={"chief_complaint", "present_illness"}) == NOBODY
    texts = "\n".join((bare.patient.chief_complaint, bare.patient.present_illness, *bare.examinations.results.values()))
    assert not PERSONAL.findall(texts) and not re.search(r"她|患儿|[男女](?!科)|\d岁", texts)


@pytest.mark.slow
@pytest.mark.parametrize("course", [Course("clinical_workflow", patient) for patient in PATIENTS], ids=str)
def test_what_the_doctors_decided_is_in_no_prompt_of_a_later_stage_without_sequence(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marked(view: Any) -> Proposal[Any]:
        proposal = weigh_or_give_way(view)
        if view.stage.name != "diagnosis":
            return proposal
        return Proposal(decision=proposal.decision.model_copy(update={"basis": "ownwords"}), reasoning="")

    script(monkeypatch, "general", marked)
    for sequential in (True, False):
        result = course.run(CASE, sequential=sequential, max_backtracks=0)
        assert any("ownwords" in words(call) for call in calls(result, stage="treatment")) is sequential
