"""The six scores of one case: what is compared with what, and why a score may be missing."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from cases import AnswerKey, Case, PatientRecord, Provenance, load_cases
from llm import ModelSettings
from llm.trace import collecting_calls
from nodes.state.decisions import Diagnosis, Referral, Treatment
from scoring.case_scores import NO_KEY, CaseScores
from scoring.medchain.answers import INFERRED, score_clinical_workflow
from scoring.medchain.suite import suite
from tests.support.fake_server import FakeServer
from wardround.config.experiment import Experiment

STAGE_NAMES = list(suite.published)
KEY: dict[str, Any] = {
    "department": "Surgery",
    "sub_departments": ["Urology", "General Surgery"],
    "examination_items": ["Abdominal Examination", "CT"],
    "imaging_reports": {"CT": "A stone of 8 mm in the left ureter. No free fluid."},
    "diagnosis": ["Nephrolithiasis"],
    "treatment_items": ["Surgery", "Medication"],
}


def case(language: str = "en", **key: Any) -> Case:
    return Case.model_validate(
        {
            "id": "a",
            "language": language,
            "patient": PatientRecord(chief_complaint="Pain"),
            "key": AnswerKey.model_validate(KEY | key),
            "provenance": Provenance(source="a test"),
        }
    )


def answers(**changes: Any) -> dict[str, Any]:
    """The final state of a perfect course, with changes."""
    right: dict[str, Any] = {
        "referral": Referral(urgency="routine", department="Surgery", sub_departments=["General Surgery", "Urology"]),
        "physical_orders": ["Abdominal Examination"],
        "auxiliary_orders": ["CT"],
        "reports": dict(KEY["imaging_reports"]),
        "diagnosis": Diagnosis(names=["Kidney stones"], basis=""),
        "treatment": Treatment(items=["Medication", "Surgery"], plan=""),
    }
    return right | changes


def score(of: Case, given: dict[str, Any], settings: ModelSettings | None = None) -> CaseScores:
    return asyncio.run(score_clinical_workflow(of, given, settings or ModelSettings()))


def test_a_perfect_course_scores_one_everywhere() -> None:
    scores = score(case(), answers())
    assert [scores.values[stage] for stage in STAGE_NAMES] == [1.0] * 6 and scores.unscored == {}


def test_a_course_that_decided_nothing_scores_zero_everywhere_and_is_scored() -> None:
    scores = score(case(), {})
    assert [scores.values[stage] for stage in STAGE_NAMES] == [0.0] * 6


def test_without_a_key_nothing_is_scored_nobody_is_asked_and_each_stage_says_why() -> None:
    empty = case().model_copy(update={"key": AnswerKey()})
    with collecting_calls() as calls:
        scores = score(empty, answers())
    assert scores.unscored == dict.fromkeys(STAGE_NAMES, NO_KEY) and calls == []


@pytest.mark.parametrize(
    ("absent", "stage"),
    [
        ({"department": None, "sub_departments": []}, "referral_level1"),
        ({"sub_departments": []}, "referral_level2"),
        ({"examination_items": []}, "history_taking"),
        ({"imaging_reports": {}}, "examination"),
        ({"diagnosis": []}, "diagnosis"),
        ({"treatment_items": []}, "treatment"),
    ],
)
def test_a_stage_without_a_reference_is_unscored_and_the_others_are_scored(absent: dict[str, Any], stage: str) -> None:
    scores = score(case(**absent), answers())
    unscored = {stage} | ({"referral_level2"} if stage == "referral_level1" else set())
    assert set(scores.unscored) == unscored
    assert all(scores.values[name] == 1.0 for name in STAGE_NAMES if name not in unscored)


def test_an_inferred_reference_that_is_left_out_is_said_to_be_one() -> None:
    whole = case()
    inferred = whole.model_copy(update={"key": whole.key.model_copy(update={"inferred": ["examination_items"]})})
    left_out, kept = (Experiment.model_validate({"inferred_keys": told}).to_score(inferred) for told in (False, True))
    assert score(left_out, answers()).unscored == {"history_taking": INFERRED}
    assert score(kept, answers()).unscored == {}


@pytest.mark.parametrize("blank", ["?", "-", "。"])
def test_a_reference_diagnosis_that_says_nothing_is_no_reference(blank: str) -> None:
    assert score(case(diagnosis=[blank]), answers()).unscored == {"diagnosis": NO_KEY}


def test_a_reference_report_that_claims_nothing_is_no_reference() -> None:
    assert score(case(imaging_reports={"CT": "..."}), answers()).unscored == {"examination": NO_KEY}


@pytest.mark.parametrize(
    ("changes", "stage", "expected"),
    [
        ({"referral": Referral(urgency="routine", department="Oncology", sub_departments=["Urology"])}, 0, 0.0),
        ({"referral": Referral(urgency="routine", department="Oncology", sub_departments=["Urology"])}, 1, 0.5),
        ({"referral": Referral(urgency="emergency", department="Surgery", sub_departments=["Urology"])}, 0, 1.0),
        ({"physical_orders": []}, 2, 0.5),
        ({"auxiliary_orders": ["CT", "MRI"]}, 2, 2 / 3),
        ({"requested": ["MRI", "Endoscopy"]}, 2, 0.5),  # what a review sends the case back for is ordered like the rest
        ({"auxiliary_orders": [], "requested": ["CT"]}, 2, 1.0),
        ({"reports": {"CT": "A stone of 8 mm in the left ureter."}}, 3, 0.5),
        ({"reports": {"CT": "A stone of 8 mm in the right ureter. No free fluid."}}, 3, 0.5),
        ({"reports": {"MRI": KEY["imaging_reports"]["CT"]}}, 3, 0.0),
        ({"diagnosis": Diagnosis(names=["Migraine"], basis="")}, 4, 0.0),
        ({"diagnosis": Diagnosis(names=["Kidney stones", "Migraine"], basis="")}, 4, 0.75),
        ({"treatment": Treatment(items=["Surgery"], plan="")}, 5, 0.5),
    ],
)
def test_an_error_of_a_stage_lowers_its_score(changes: dict[str, Any], stage: int, expected: float) -> None:
    assert score(case(), answers(**changes)).values[STAGE_NAMES[stage]] == pytest.approx(expected)


def test_a_report_that_was_not_written_counts_with_all_its_claims() -> None:
    reports = {"CT": "A stone of 8 mm in the left ureter. No free fluid.", "MRI": "Normal kidneys. No oedema."}
    assert score(case(imaging_reports=reports), answers()).values["examination"] == 0.5


def test_a_report_beyond_the_reference_changes_nothing() -> None:
    reports = {**KEY["imaging_reports"], "MRI": "A fracture."}
    assert score(case(), answers(reports=reports)).values["examination"] == 1.0


def test_names_in_the_other_language_are_the_same_items() -> None:
    chinese = Referral(urgency="routine", department="Surgery", sub_departments=["泌尿外科", "普通外科"])
    assert score(case("zh"), answers(referral=chinese)).values["referral_level2"] == 1.0


def test_a_judge_that_fails_leaves_its_score_missing_with_the_reason_and_the_others_stand() -> None:
    with FakeServer(faults=lambda request: "500") as server:
        settings = ModelSettings(models={"diagnosis_judge": f"openai:judge@{server.base_url}"}, max_attempts=1)
        scores = score(case(), answers(), settings)
    assert scores.values["diagnosis"] is None and set(scores.unscored) == {"diagnosis"}
    assert scores.unscored["diagnosis"].startswith("judge failed: model_error: ")
    assert scores.values["examination"] == 1.0 and scores.values["treatment"] == 1.0


def test_a_claim_judge_that_answers_beside_the_point_fails_the_examination_and_not_the_diagnosis() -> None:
    with FakeServer(answer=lambda request: "I cannot tell.") as server:
        settings = ModelSettings(models={"claim_judge": f"openai:judge@{server.base_url}"})
        scores = score(case(), answers(), settings)
    assert set(scores.unscored) == {"examination"} and scores.values["diagnosis"] == 1.0
    assert scores.unscored["examination"].startswith("judge failed: unparseable_answer: ")


def test_what_is_no_failure_to_answer_is_raised() -> None:
    with pytest.raises(ValidationError):
        score(case(), answers(referral="Surgery"))


@pytest.mark.slow
def test_every_built_in_case_can_be_scored_against_its_own_key() -> None:
    for each in load_cases():
        key = each.key
        given = {
            "referral": Referral(
                urgency="routine", department=key.department or "Surgery", sub_departments=key.sub_departments
            ),
            "auxiliary_orders": key.examination_items,
            "reports": key.imaging_reports,
            "diagnosis": Diagnosis(names=key.diagnosis, basis=""),
            "treatment": Treatment(items=key.treatment_items, plan=""),
        }
        scores = score(each, given)
        assert {stage: scores.values[stage] for stage in STAGE_NAMES} == {
            stage: None if stage in scores.unscored else 1.0 for stage in STAGE_NAMES
        }, each.id


def test_another_sound_plan_counts_if_it_agrees_better_and_never_worsens() -> None:
    other = {"treatment_items": ["Physical Therapy", "Medication"]}
    given = answers(treatment=Treatment(items=["Medication", "Physical Therapy"], plan=""))
    assert score(case(), given).values["treatment"] == pytest.approx(1 / 3)
    assert score(case(alternative_plans=[other]), given).values["treatment"] == 1
    assert score(case(alternative_plans=[other]), answers()).values["treatment"] == 1
    assert score(case(treatment_items=[], alternative_plans=[{}]), given).values["treatment"] is None


def test_what_a_key_has_no_reference_for_is_known_without_any_answer() -> None:
    bare = case(department=None, sub_departments=[], diagnosis=[], imaging_reports={}, inferred=["department"])
    missing = suite.without_reference(bare)
    others = ("referral_level2", "diagnosis", "examination")
    assert missing == {"referral_level1": INFERRED, **dict.fromkeys(others, NO_KEY)}
    assert missing == score(bare, answers()).unscored and suite.without_reference(case()) == {}
    assert suite.without_reference(case(treatment_items=[], alternative_plans=[{}])) == {"treatment": NO_KEY}
