from typing import Any

import pytest

from cases import load_cases
from cases.impersonal import impersonal, impersonal_text
from cases.vocabulary import Language


@pytest.mark.parametrize(
    ("language", "text", "left", "record"),
    [
        ("en", "A 45-year-old woman presented.", "A person presented.", {}),
        ("en", "My ten-month-old son has a fever.", "My child has a fever.", {}),
        ("en", "She hurt her arm.", "The patient hurt the patient's arm.", {"sex": "female"}),
        ("en", "His wife says he snores.", "The patient's spouse says the patient snores.", {"sex": "male"}),
        ("en", "He is 47.", "The patient is of an age not told.", {"age_years": 47}),
        ("en", "A woman of 45 years, clerk.", "A person, clerk.", {}),
        ("en", "He is 27, a courier.", "The patient is of an age not told, a courier.", {}),
        ("en", "A fall when 20 years old; HER2 47 %.", "A fall when 20 years old; HER2 47 %.", {"age_years": 47}),
        ("en", "Sex: male; a 3-day-old wound.", "a wound.", {}),
        ("zh", "患者，女，58岁，农民，因咳嗽3天入院。", "患者，因咳嗽3天入院。", {"occupation": "农民"}),
        ("zh", "中年女性。患儿，男，3个月，发热3天。", "中年。患者，发热3天。", {}),
        ("zh", "妻子诉他夜里打鼾，服他克莫司和其他药物。", "配偶诉患者夜里打鼾，服他克莫司和其他药物。", {}),
        ("zh", "20岁时手术，服药2周。", "20岁时手术，服药2周。", {"age_years": 58}),
    ],
)  # fmt: skip
def test_a_text_tells_neither_age_nor_sex_nor_occupation_and_else_what_it_told(
    language: Language, text: str, left: str, record: dict[str, Any]
) -> None:
    assert impersonal_text(text, language, **record) == left


def test_a_case_in_a_language_without_rules_is_refused_and_not_left_half_personal() -> None:
    case = load_cases()[0].model_copy(update={"language": "fr"})
    with pytest.raises(ValueError, match="there are rules for en and zh only"):
        impersonal(case)


def test_reports_of_single_pictures_tell_nothing_of_the_person_either() -> None:
    case = next(case for case in load_cases() if case.language == "en" and case.patient.sex)
    key = case.key.model_copy(update={"picture_reports": {"a.png": "A 45-year-old woman with a fracture."}})
    told = impersonal(case.model_copy(update={"key": key})).key.picture_reports
    assert told == {"a.png": "A person with a fracture."}
