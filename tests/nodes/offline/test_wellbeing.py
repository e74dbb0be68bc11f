"""Questions whether something is as it should be, which the patient's "No" would turn into a complaint."""

import pytest

from cases import load_cases
from cases.vocabulary import Language
from nodes.offline.record_answers import answer_from_record
from nodes.offline.wellbeing import asks_if_well
from prompts import load_words


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Can you swallow without difficulty?"),
        ("en", "Do you have a good appetite?"),
        ("en", "Is your weight stable?"),
        ("en", "Are you sleeping through the night?"),
        ("en", "Can you see clearly?"),
        ("zh", "看东西清楚吗？"),
        ("zh", "体重稳定吗？"),
        ("zh", "能顺利咽下东西吗？"),
    ],
)
def test_no_patient_denies_that_something_is_well(language: Language, question: str) -> None:
    denied = load_words("consultation/words", language)["patient"]["nothing"]
    patients = [case.patient for case in load_cases() if case.language == language]
    answers = {answer_from_record(question, patient, [], language) for patient in patients[::6]}
    assert denied not in answers


@pytest.mark.parametrize(("language", "question"), [("en", "Does your child play as usual?"), ("zh", "走路正常吗？")])
def test_whether_something_is_as_usual_is_understood_whatever_it_is(language: Language, question: str) -> None:
    words = load_words("consultation/words", language)["patient"]
    patients = [case.patient for case in load_cases() if case.language == language]
    answers = {answer_from_record(question, patient, [], language) for patient in patients[::6]}
    assert not answers & {words["unclear"], words["off_topic"]}


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Do you have trouble seeing clearly?"),
        ("en", "Have you lost your appetite?"),
        ("en", "Is your urine darker than usual?"),
        ("en", "Do you bruise easily?"),
        ("zh", "看东西模糊吗？"),
        ("zh", "比平时更口渴吗？"),
        ("zh", "吞咽困难吗？"),
    ],
)
def test_a_question_for_a_complaint_may_be_denied(language: Language, question: str) -> None:
    assert not asks_if_well(question, language)
