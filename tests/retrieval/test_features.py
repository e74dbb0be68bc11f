import pytest
from pydantic import ValidationError

from retrieval import RememberedCase, feature_text, remember
from tests.retrieval.examples import appendicitis, pseudo


def test_a_verified_case_is_remembered_in_twelve_features() -> None:
    remembered = remember(appendicitis())
    assert remembered.verified
    assert remembered.symptoms == (
        "Pain in the right lower abdomen for one day, The pain began around the navel, vomited twice"
    )
    assert remembered.history == "Tonsillectomy at six."
    assert remembered.diagnosis == ["Acute appendicitis"]
    assert remembered.department == "Surgery"
    assert RememberedCase.model_validate_json(remembered.model_dump_json()) == remembered


def test_a_remembered_case_is_told_in_english_with_only_the_features_it_has() -> None:
    assert feature_text(remember(appendicitis())).splitlines() == [
        "Age: 24 years",
        "Sex: female",
        "Chief complaint: Pain in the right lower abdomen for one day",
        "Symptoms: Pain in the right lower abdomen for one day, The pain began around the navel, vomited twice",
        "History: Tonsillectomy at six.",
        "Physical examination: Abdominal Examination: Rebound tenderness at McBurney's point",
        "Auxiliary examination: Blood Test: Leukocytes 15.2 x 10^9/L",
        "Imaging report: Ultrasound: Swollen appendix of 11 mm",
        "Diagnosis: Acute appendicitis",
        "Treatment: Surgery, Antibiotic Therapy",
        "Department: Surgery",
        "Sub-department: General Surgery",
    ]


def test_a_remembered_case_is_told_in_chinese_with_chinese_labels_and_terms() -> None:
    case = RememberedCase(
        id="z", language="zh", verified=True, age_years=0.5, sex="male", symptoms="发热", department="儿科"
    )
    assert feature_text(case) == "年龄：6个月\n性别：男\n症状：发热\n一级科室：儿科"
    translated = remember(appendicitis()).model_copy(update={"language": "zh"})
    assert "治疗项目：手术、抗生素治疗" in feature_text(translated)


def test_a_pseudo_case_says_that_it_is_not_verified() -> None:
    assert feature_text(pseudo("p", 0)).endswith("Not verified: the answers of an earlier run")


def test_a_verified_case_has_no_order() -> None:
    with pytest.raises(ValidationError, match="only pseudo-cases of a run"):
        RememberedCase(id="v", verified=True, order=1)
