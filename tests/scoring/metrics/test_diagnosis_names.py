"""Diagnoses as a teacher compares them: synonyms, less and more exact names, the wrong side."""

from itertools import product

import pytest

from cases import load_cases
from scoring.metrics.diagnosis_grade import is_denied
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
        ("非小细胞肺癌", "小细胞肺癌", "related"),
        ("酒精性脂肪肝", "非酒精性脂肪性肝病", "related"),
        ("ST段抬高型心肌梗死", "非ST段抬高型心肌梗死", "related"),
        ("非特异性外阴炎", "外阴炎", "more_specific"),
        ("室上性心动过速", "室性心动过速", "related"),
        ("室性期前收缩", "室性早搏", "same"),
        ("急性左心衰", "急性左心衰竭", "same"),
        ("乳腺恶性肿瘤", "乳腺癌", "same"),
        ("慢性乙型病毒性肝炎", "慢性乙型肝炎", "same"),
        ("TIA", "短暂性脑缺血发作", "same"),
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


KEYS = [(case.id, case.language, case.key.diagnosis) for case in load_cases("builtin") if case.key.diagnosis]
DENIALS = {
    "en": ("No {}", "{} ruled out", "{} (excluded)", "{} unlikely", "Family history of {}", "Mother has {}"),
    "zh": ("排除{}", "{}已排除", "{}（已排除）", "不考虑{}", "{}可能性小", "{}家族史", "父亲患{}"),
}
HEDGES = {
    "en": (
        *("Suspected {}", "{} (suspected)", "{}?", "Possible {}", "{} cannot be excluded", "{} to be ruled out"),
        *("{} not completely excluded", "{} has not been ruled out", "{} (not yet excluded)", "{} should be excluded"),
    ),
    "zh": (
        "{}尚不能排除",
        *("疑似{}", "考虑{}", "{}待查", "{}可能", "{}可能性大", "{}不能排除", "{}不排除", "不排除{}", "{}需排除"),
        *(
            "{}不能完全排除",
            "{}未完全排除",
            "{}尚未排除",
            "{}待进一步排除",
            "{}难以排除",
            "{}（不除外）",
            "{}尚不能排除",
        ),
    ),
}
LISTS = ("{0}. {1}", "({0}) {1}", "- {1}", "{1}.", " {1} ")


def level(given: list[str], reference: list[str]) -> int:
    grade = grade_names(given, reference)
    assert grade is not None
    return grade.level


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_denied_diagnosis_and_a_relatives_are_wrong_in_every_case_and_a_hedged_one_is_right(language: str) -> None:
    keys = [(case_id, key) for case_id, own, key in KEYS if own == language]
    graded = {
        (case_id, form): level([form.format(name) for name in key], key)
        for (case_id, key), form in product(keys, DENIALS[language] + HEDGES[language])
    }
    assert {at for at, found in graded.items() if at[1] in DENIALS[language] and found != 1} == set()
    assert {at for at, found in graded.items() if at[1] in HEDGES[language] and found != 5} == set()


LACKING = (
    *("无菌性脑膜炎", "无症状性脑梗死", "无痛性甲状腺炎", "无先兆偏头痛", "无脉症", "无精子症", "无移位骨折"),
    *("未破裂脑动脉瘤", "未分化癌", "未控制的高血压", "未特指的肺炎", "动脉导管未闭", "不孕症", "不稳定型心绞痛"),
    *("肺癌可能性不小", "二尖瓣关闭不全", "Absence seizures", "No-reflow phenomenon", "Gout without tophi"),
    *("Not otherwise specified anxiety disorder", "Fever without source", "Familial hypercholesterolemia"),
)


@pytest.mark.parametrize("name", LACKING)
def test_what_a_disease_lacks_by_its_name_is_no_denial(name: str) -> None:
    assert not is_denied(name)


def test_the_part_of_a_disease_without_what_it_lacks_is_related_to_it() -> None:
    assert relation("脑动脉瘤", "未破裂脑动脉瘤") == relation("无菌性脑膜炎", "脑膜炎") == "related"


def test_a_stop_in_brackets_parts_no_names() -> None:
    for key in ("Hypertension (grade 2; very high risk)", "高血压（2级；极高危）"):
        whole = key.replace("; ", ", ").replace("；", "，")
        assert level([whole], [key]) == level([key], [whole]) == level([key], [key]) == 5


def test_how_diagnoses_are_listed_changes_nothing() -> None:
    for case_id, _, key in KEYS:
        for form in LISTS:
            listed = [form.format(number, name) for number, name in enumerate(key, start=1)]
            assert level(listed, key) == level(key, listed) == 5, (case_id, form)
        assert level(["; ".join(key)], key) == level(["\n".join(key)], key) == 5, case_id
        assert level([*key, *key], key) == 5 > level([*key, "gout"], key), case_id


QUALIFIERS = {
    "en": ("mild", "severe", "left", "grade 3", "type 2", "acute", "old"),
    "zh": ("重度", "左", "3级", "2型", "急性期"),
}


def test_no_qualifier_in_brackets_makes_one_disease_of_two() -> None:
    names = {"en": ("Asthma", "Appendicitis", "Hip fracture"), "zh": ("哮喘", "阑尾炎", "股骨骨折")}
    for language, qualifiers in QUALIFIERS.items():
        for one, other, qualifier in product(names[language], names[language], qualifiers):
            same = relation(f"{one} ({qualifier})", f"{other}（{qualifier}）")
            assert same == ("same" if one == other else None), (one, other, qualifier)


@pytest.mark.parametrize(
    ("given", "reference", "wanted"),
    [
        ("Pneumothorax (left)", "Pneumothorax (right)", "other_side"),
        ("Diabetes (type 1)", "Diabetes (type 2)", None),
        ("Asthma (mild)", "Asthma (severe)", None),
        ("Asthma (mild)", "Asthma (of the elderly)", "less_specific"),
        (COLLES, "Left distal radius fracture (closed)", "less_specific"),
        (f"No {COLLES}", COLLES, None),
        ("Colles fracture (closed)", COLLES, "same"),
    ],
)
def test_two_names_with_brackets_are_compared_by_what_these_hold(
    given: str, reference: str, wanted: str | None
) -> None:
    assert relation(given, reference) == wanted
