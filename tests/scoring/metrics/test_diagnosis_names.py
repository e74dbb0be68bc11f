"""Diagnoses as a teacher compares them: synonyms, less and more exact names, the wrong side."""

import pytest

from scoring.metrics.diagnosis_names import compare_names, grade_names, relation

LEFT = "Primary spontaneous pneumothorax (left)"
COLLES = "Left distal radius fracture (Colles fracture)"


@pytest.mark.parametrize(
    ("given", "reference", "wanted"),
    [
        ("Pneumothorax", LEFT, "less_specific"),
        ("Left pneumothorax", LEFT, "less_specific"),
        ("Right pneumothorax", LEFT, "other_side"),
        ("Tension pneumothorax", LEFT, None),
        ("shingles", "带状疱疹", "same"),
        ("fibroids", "Uterine leiomyoma", "same"),
        ("CLL/SLL", "Chronic lymphocytic leukemia", "same"),
        ("Graves病", "毒性弥漫性甲状腺肿（Graves病）", "same"),
        ("Colles fracture", COLLES, "same"),
        ("right wrist fracture", COLLES, "other_side"),
        ("fracture", COLLES, "related"),
        ("diabetes", "Type 2 diabetes mellitus", "less_specific"),
        ("diabetes insipidus", "Type 2 diabetes mellitus", None),
        ("Fracture of the neck of the right femur", "Left femoral neck fracture", "other_side"),
        ("liver failure", "Fulminant hepatic failure", "less_specific"),
        ("Cardiac failure", "Heart failure", "same"),
        ("Pulmonary edema", "Pulmonary embolism", None),
        ("二型糖尿病", "2型糖尿病", "same"),
        ("一型糖尿病", "2型糖尿病", None),
        ("慢阻肺急性加重期", "慢性阻塞性肺疾病急性加重", "same"),
        ("type 1 diabetes", "Type 2 diabetes mellitus", None),
        ("portal hypertension", "Essential hypertension", None),
        ("Hypothyroidism", "Hyperthyroidism", None),
        ("no pneumothorax", "Pneumothorax", None),
        ("阑尾炎", "急性阑尾炎", "less_specific"),
        ("急性化脓性阑尾炎", "急性阑尾炎", "more_specific"),
        ("慢性阑尾炎", "急性阑尾炎", None),
        ("右下肢静脉曲张", "左下肢静脉曲张（CEAP C4级）", "other_side"),
    ],
)
def test_a_name_stands_to_the_keys_as_a_teacher_would_say(given: str, reference: str, wanted: str | None) -> None:
    assert relation(given, reference) == wanted


def test_each_name_of_the_key_has_its_answer_and_what_is_beyond_it_comes_last() -> None:
    compared = compare_names(["Fever", "collapsed lung"], [LEFT, "Apical blebs of the left lung"])
    assert [(one.given, one.reference, one.relation) for one in compared] == [
        ("collapsed lung", LEFT, "less_specific"),
        ("", "Apical blebs of the left lung", "missed"),
        ("Fever", "", "added"),
    ]


@pytest.mark.parametrize(
    ("given", "level"),
    [([LEFT], 5), (["Pneumothorax"], 4), (["Right pneumothorax"], 2), (["Gout"], 1), (["Pneumothorax", "Gout"], 4)],
)
def test_a_name_that_says_less_is_mostly_right_and_the_other_side_mostly_wrong(given: list[str], level: int) -> None:
    grade = grade_names(given, [LEFT])
    assert grade is not None and grade.level == level
    assert grade_names(given, []) is None


@pytest.mark.parametrize(
    ("given", "reference", "expected"),
    [
        ("肺癌", "左肺腺癌", "related"),
        ("急性脑梗死", "左侧侧脑室旁脑梗死", "related"),
        ("低钾血症", "高钾血症", None),
        ("胆囊炎", "阑尾炎", None),
        ("1型糖尿病", "2型糖尿病", None),
        ("急性甲型肝炎", "急性乙型肝炎", None),
    ],
)
def test_a_chinese_name_within_another_of_the_same_kind_is_related_to_it(
    given: str, reference: str, expected: str | None
) -> None:
    assert relation(given, reference) == relation(reference, given) == expected
