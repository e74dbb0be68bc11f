import asyncio
from typing import Any

import pytest

from cases import AnswerKey
from llm import ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Turn
from scoring.consultation import items_asked_for, score_consultation
from tests.graphs.scripting import builtin

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
