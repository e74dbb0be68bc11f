import pytest

from cases import PatientRecord
from cases.vocabulary import Language
from nodes.patients.ai_hospital.profile import ProfileView, plain_profile
from tests.graphs.scripting import builtin


@pytest.mark.parametrize("case_id", ["surgery-01", "surgery-06"])
def test_offline_the_patient_opens_with_the_complaint_and_knows_who_he_is(case_id: str) -> None:
    case = builtin(case_id)
    profile = plain_profile(ProfileView(record=case.patient, language=case.language))
    assert case.patient.chief_complaint.rstrip(".。") in profile.statement
    assert f"{case.patient.age_years:.0f}" in profile.personality and case.patient.occupation in profile.personality


@pytest.mark.parametrize(("language", "unknown"), [("en", "None"), ("zh", "（）")])
def test_offline_a_person_of_whom_nothing_is_known_has_a_profile_too(language: Language, unknown: str) -> None:
    profile = plain_profile(ProfileView(record=PatientRecord(chief_complaint="A cough."), language=language))
    assert profile.personality and unknown not in profile.personality


@pytest.mark.parametrize(
    ("years", "told"), [(0.03, "11-day-old"), (0.5, "6-month-old"), (2.5, "30-month-old"), (3.2, "3-year-old")]
)
def test_offline_a_baby_is_counted_in_days_and_a_small_child_in_months(years: float, told: str) -> None:
    record = PatientRecord(chief_complaint="A cough.", age_years=years)
    assert told in plain_profile(ProfileView(record=record, language="en")).personality
