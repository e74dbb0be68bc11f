import asyncio
from typing import Any

import pytest

from cases import AnswerKey, Case
from cases.case import Plan
from graphs import consultation, one_step
from llm import AnswerError, ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers, items_asked_for, reference_parts, score_consultation
from scoring.mvme.suite import COPIED
from scoring.suite import SUITES
from tests.graphs.scripting import builtin
from tests.support.fake_server import FakeServer
from wardround.config.experiment import Experiment

ONE_STEP: Any = one_step
CONSULTATION: Any = consultation
CASE = builtin("surgery-01")
RIGHT = FinalReport(
    symptoms=f"{CASE.patient.chief_complaint} {CASE.patient.present_illness}",
    examinations=" ".join(f"{item}: {text}" for item, text in CASE.examinations.results.items()),
    diagnosis=CASE.key.diagnosis,
    basis=CASE.key.diagnosis_basis,
    treatment=CASE.key.treatment_course,
)


def asking(*words: str) -> list[Turn]:
    return [Turn(speaker="doctor", text=text) for text in words]


def scores(report: FinalReport = RIGHT, case: Any = CASE, **state: Any) -> Any:
    return asyncio.run(score_consultation(case, {"report": report, **state}, ModelSettings()))


@pytest.mark.parametrize(
    ("state", "items"),
    [
        ({"dialogue": asking("A blood count, please.", "Now an ultrasound.")}, ["Ultrasound", "Blood Test"]),
        ({"dialogue": asking("Have you ever had a CT?", "Give me everything.")}, []),
        ({"dialogue": [Turn(speaker="patient", text="I want an MRI.")]}, []),
        ({"physical_orders": ["Chest Examination"], "auxiliary_orders": ["CT"]}, ["Chest Examination", "CT"]),
        ({}, []),
    ],
)
def test_asked_for_is_what_the_doctor_named_as_wanted(state: dict[str, Any], items: list[str]) -> None:
    assert items_asked_for(state) == items


def test_a_report_that_says_what_the_key_says_is_graded_best() -> None:
    found = scores(dialogue=asking(*(f"Please do this: {item}." for item in CASE.key.examination_items)))
    assert found.diagnosis.level == 5 and found.examinations == 1.0
    assert {grade.option for _, grade in found.parts} == {"A"}


def test_a_report_that_says_nothing_right_is_graded_worst() -> None:
    empty = FinalReport(symptoms="", examinations="", diagnosis=["Gout"], basis="", treatment="")
    found = scores(empty, dialogue=asking("Please have a mammogram done."))
    assert found.diagnosis.level == 1 and found.examinations == 0.0
    assert {grade.option for _, grade in found.parts} == {"D"}


def test_what_the_key_does_not_answer_is_not_scored() -> None:
    found = scores(case=CASE.model_copy(update={"key": AnswerKey()}))
    assert found.diagnosis is None and found.examinations is None
    assert found.parts.diagnosis is None and found.parts.basis is None and found.parts.treatment is None


def test_what_one_step_copies_of_the_record_is_not_scored_and_says_why() -> None:
    case = builtin("surgery-03")
    answers = ConsultationAnswers.of(ONE_STEP.invoke({"case": case}, context={"retrieval": False}))
    found = asyncio.run(SUITES["mvme"].score(case, answers, Context()))
    assert answers.disclosed and {part for part, score in found.values.items() if score is None} == set(COPIED)
    assert {part: found.unscored[part] for part in COPIED} == COPIED
    unwritten = asyncio.run(SUITES["mvme"].score(case, answers.model_copy(update={"report": None}), Context()))
    assert [unwritten.values[part] for part in COPIED] == [None, None] and unwritten.values["diagnosis"] == 1.0


def test_the_director_is_neither_shown_nor_asked_for_what_one_step_copies_of_the_record() -> None:
    answers = ConsultationAnswers(report=RIGHT, disclosed=True)
    with FakeServer() as server:
        models = {"default": f"openai:any@{server.base_url}"}
        found = asyncio.run(SUITES["mvme"].score(CASE, answers, ModelSettings(models=models)))
        asked = next(request for request in server.requests if request.name == "MvmeGrades")
    assert "Parts to grade: diagnosis, basis, treatment." in asked.text
    assert not any(text in asked.text for text in (CASE.patient.chief_complaint, RIGHT.examinations))
    assert {part for part, score in found.values.items() if score is None} == set(COPIED)


@pytest.mark.parametrize(("diagnosis", "asked"), [(["Gout"], 1), (CASE.key.diagnosis, 0)])
def test_what_led_to_a_diagnosis_is_asked_of_the_lowest_graded_alone_and_costs_no_score(
    diagnosis: list[str], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def no_answer(*given: Any) -> None:
        seen.append(given)
        raise AnswerError("not readable")

    monkeypatch.setattr("scoring.mvme.suite.misdiagnosis", no_answer)
    report = FinalReport(symptoms="", examinations="", diagnosis=diagnosis, basis="", treatment="")
    found = asyncio.run(SUITES["mvme"].score(CASE, ConsultationAnswers(report=report), Context()))
    assert len(seen) == asked and found.values["diagnosis"] == (1.0 if asked else 4.0)


def test_what_a_consultation_found_out_is_scored() -> None:
    state = CONSULTATION.invoke({"case": builtin("surgery-03")}, context={"retrieval": False, "max_turns": 2})
    assert not ConsultationAnswers.of(state).disclosed


def test_by_the_published_reference_symptoms_are_the_complaint_and_examinations_the_auxiliary_ones() -> None:
    report = RIGHT.model_copy(
        update={
            "symptoms": CASE.patient.chief_complaint,
            "examinations": "\n".join(f"{item}: {text}" for item, text in CASE.examinations.auxiliary.items()),
        }
    )
    assert CASE.patient.present_illness and CASE.examinations.physical
    grades = {}
    for published in (False, True):
        scored = Experiment(graph="consultation", suite="mvme", published_reference=published).to_score(CASE)
        grades[published] = asyncio.run(SUITES["mvme"].score(scored, ConsultationAnswers(report=report), Context()))
    narrow, whole = grades[True].values, grades[False].values
    assert narrow["symptoms"] == narrow["examinations"] == 4.0 and whole["symptoms"] < 4.0 > whole["examinations"]
    assert {name: narrow[name] for name in ("diagnosis", "basis", "treatment")} == {
        name: whole[name] for name in ("diagnosis", "basis", "treatment")
    }


def test_the_plan_that_agrees_best_is_the_treatments_grade_where_an_experiment_says_so() -> None:
    plan = "Antibiotics for seven days, and a check of the ears after a month."
    key = CASE.key.model_copy(update={"alternative_plans": [Plan(treatment_course=plan), Plan()]})
    case = CASE.model_copy(update={"key": key})
    answers = ConsultationAnswers(report=RIGHT.model_copy(update={"treatment": plan}))
    grades = {}
    for wanted in (False, True):
        scored = Experiment(alternative_plans=wanted).to_score(case)
        grades[wanted] = asyncio.run(SUITES["mvme"].score(scored, answers, Context())).values
    assert grades[False]["treatment"] < grades[True]["treatment"] == 4.0
    assert {**grades[False], "treatment": 4.0} == grades[True]
    again = asyncio.run(SUITES["mvme"].score(case, ConsultationAnswers(report=RIGHT), Context())).values
    assert again["treatment"] == 4.0


def test_the_plans_of_a_key_are_graded_side_by_side() -> None:
    plans = [Plan(treatment_course="Rest."), Plan(treatment_course="Nothing.")]
    case = CASE.model_copy(update={"key": CASE.key.model_copy(update={"alternative_plans": plans})})
    answers = ConsultationAnswers(report=RIGHT)
    with FakeServer(latency=0.1) as server:
        context = Context(models={"default": f"openai:any@{server.base_url}"})
        scores = asyncio.run(SUITES["mvme"].score(case, answers, context))
    assert server.max_in_flight == 3 and scores.values["treatment"] is not None


def test_a_treatment_that_only_another_plan_states_is_graded_and_not_called_unscored() -> None:
    plan = Plan(treatment_course="Antibiotics for seven days, and a check of the ears after a month.")
    key = CASE.key.model_copy(update={"treatment_course": "", "alternative_plans": [plan]})
    case, suite = CASE.model_copy(update={"key": key}), SUITES["mvme"]
    report = RIGHT.model_copy(update={"treatment": plan.treatment_course})
    for given, grade in ((report, 4.0), (None, 1.0)):
        scores = asyncio.run(suite.score(case, ConsultationAnswers(report=given), Context()))
        assert scores.values["treatment"] == grade and "treatment" not in scores.unscored
    bare = case.model_copy(update={"key": key.model_copy(update={"alternative_plans": []})})
    assert "treatment" in suite.without_reference(bare)


def test_the_directors_record_parts_complaint_and_history_by_a_full_stop() -> None:
    patient = {"chief_complaint": "Shooting pain in the ear", "present_illness": "It began with eating."}
    case = Case.model_validate({"id": "a", "patient": patient, "provenance": {"source": "own"}})
    assert reference_parts(case).symptoms == "Shooting pain in the ear. It began with eating."
