import pytest

from cases.notes import Note
from nodes.reconstruction.role_setting import roles_of


@pytest.mark.parametrize(
    ("language", "person", "age_years", "speaker"),
    [
        ("en", "Patient: Female, 6", 6.0, "daughter"),
        ("en", "Patient: Male, 7 months", 0.583, "son"),
        ("zh", "患者：女，6", 6.0, "daughter"),
    ],
)
def test_age_and_sex_are_read_of_a_line_that_has_nothing_else(
    language: str, person: str, age_years: float, speaker: str
) -> None:
    complaint = "Chief complaint: Cough for two days." if language == "en" else "主诉：咳嗽两天。"
    roles = roles_of(Note.model_validate({"id": "a", "language": language, "text": f"{person}\n{complaint}"}))
    assert (roles.age_years, roles.speaker) == (age_years, speaker)
