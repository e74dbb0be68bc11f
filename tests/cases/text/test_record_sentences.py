import pytest

from cases import ExaminationRecord, PatientRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language

PATIENT = PatientRecord(
    age_years=0.5,
    sex="female",
    occupation="none",
    chief_complaint="Fever.",
    present_illness="It rose to 38.5 degrees. She cried.",
    family_history="No disease.",
)
EXAMINATIONS = ExaminationRecord(physical={"Neck Examination": "Supple."}, auxiliary={"Blood Test": "CRP 60. WBC 12."})


def test_every_sentence_of_both_records_is_a_fact_of_its_section() -> None:
    assert [(fact.section, fact.text) for fact in record_sentences(PATIENT, EXAMINATIONS, "en")] == [
        ("person", "Age: 6 months."),
        ("person", "Sex: female."),
        ("person", "Occupation: none."),
        ("chief_complaint", "Fever."),
        ("present_illness", "It rose to 38.5 degrees."),
        ("present_illness", "She cried."),
        ("family_history", "No disease."),
        ("Neck Examination", "Supple."),
        ("Blood Test", "CRP 60."),
        ("Blood Test", "WBC 12."),
    ]


def test_only_what_an_examination_found_is_a_result() -> None:
    results = [fact.text for fact in record_sentences(PATIENT, EXAMINATIONS, "en") if fact.is_result]
    assert results == ["Supple.", "CRP 60.", "WBC 12."]


@pytest.mark.parametrize(
    ("years", "language", "line"),
    [
        (41, "en", "Age: 41 years."),
        (41, "zh", "年龄：41岁。"),
        (5.5, "zh", "年龄：5岁。"),  # completed years
        (2.5, "en", "Age: 30 months."),
        (0.01, "en", "Age: 4 days."),
        (0.01, "zh", "年龄：4天。"),
    ],
)
def test_the_age_is_told_in_the_unit_that_people_use(years: float, language: Language, line: str) -> None:
    record = PatientRecord(age_years=years, chief_complaint="x")
    assert record_sentences(record, ExaminationRecord(), language)[0].text == line


@pytest.mark.parametrize(("recorded", "language"), [("infant", "en"), ("Toddler at home", "en"), ("新生儿", "zh")])
def test_that_somebody_is_a_small_child_is_no_occupation(recorded: str, language: Language) -> None:
    record = PatientRecord(occupation=recorded, chief_complaint="x")
    assert [fact.section for fact in record_sentences(record, ExaminationRecord(), language)] == ["chief_complaint"]
