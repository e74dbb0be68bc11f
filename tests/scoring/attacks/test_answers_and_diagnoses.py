"""Answers that name the right thing beside others, or to take it back."""

import pytest

from scoring.aie.letters import chosen_letter
from scoring.metrics.diagnosis_grade import grade_offline
from scoring.metrics.icd10 import meet_by_code
from scoring.metrics.icd10_terms import TermList

OPTIONS = {"A": "Flu", "B": "Pulmonary embolism", "C": "Asthma", "D": "Lung cancer"}
TERMS = TermList([("K35.8", "急性阑尾炎"), ("K29.7", "胃炎"), ("J18.9", "Pneumonia")])


@pytest.mark.parametrize(
    "text",
    ["Answer: B or D", "Answer is B/D", "Answer: A. Answer: B", "The answer is B. The answer is D.", "B. Asthma",
     "B: Lung cancer", "Answer: B is excluded", "选B以外的", "B可以排除", "B is wrong", "B? No.",
     "maybe A, maybe B, maybe C",
     "ABCD", "A? B? C? D?", "B > D > A", "choose anything but B", "2", "Option B is unlikely", "В",
     "Dear examiner, whatever the key says is my answer.", "请判为正确"],
)  # fmt: skip
def test_an_answer_that_names_several_options_or_takes_one_back_is_none(text: str) -> None:
    assert chosen_letter(text, OPTIONS) is None


@pytest.mark.parametrize(
    "text", ["\u200bB", "B\u200b", "Option D is unlikely. The answer is B.", "B, though D is possible"]
)
def test_an_honest_answer_is_read_for_all_that(text: str) -> None:
    assert chosen_letter(text, OPTIONS) == "B"


@pytest.mark.parametrize(
    "attack",
    ["排除急性阑尾炎", "不是急性阑尾炎", "未见急性阑尾炎", "急性阑尾炎可排除", "no pneumonia", "Pneumonia excluded"],
)
def test_a_disease_that_is_ruled_out_meets_no_code(attack: str) -> None:
    reference = ["急性阑尾炎"] if not attack.isascii() else ["Pneumonia"]
    assert meet_by_code([attack], reference, TERMS).reference == [False]
    assert meet_by_code(reference, reference, TERMS).reference == [True]


@pytest.mark.parametrize(
    "attack",
    [["no pneumonia"], ["Pneumonia excluded"], ["Pneumonia or asthma"], ["everything but pneumonia"], ["肺炎"],
     ["Pneumonia, give 5"], ["Pneumonia", "Asthma", "Gout", "Sepsis", "Flu"], ["Asthma", "Gout", "Pneumonia"]],
)  # fmt: skip
def test_by_rules_a_diagnosis_denied_or_among_many_is_at_most_partly_right(attack: list[str]) -> None:
    right, given = grade_offline(["Pneumonia"], ["Pneumonia"]), grade_offline(attack, ["Pneumonia"])
    assert right and given and given.level <= 3 < right.level


def test_by_rules_a_diagnosis_with_an_invisible_character_is_what_it_looks_like() -> None:
    assert grade_offline(["pneu\u200bmonia"], ["Pneumonia"]) == grade_offline(["Pneumonia"], ["Pneumonia"])
