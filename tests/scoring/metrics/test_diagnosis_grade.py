from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cases.vocabulary import normalise
from scoring.metrics.diagnosis_grade import (
    DIFFERENT,
    RELATED,
    SAME,
    DiagnosisGrade,
    _pair,
    grade_offline,
    name_agreement,
    name_words,
)

WORDS = st.sampled_from(["acute", "left", "type", "1", "2", "diabetes", "insipidus", "fracture", "急性", "胃炎"])
NAMES = st.one_of(st.text(max_size=30), st.lists(WORDS, max_size=4).map(" ".join))
LISTS = st.lists(NAMES, max_size=5)
LIKE = ["diabetes", "diabetes insipidus", "type 2 diabetes", "insipidus", "gout", "acute gout", "acute", "left gout"]


def test_the_five_levels_are_evenly_spaced_from_zero_to_one() -> None:
    grades = [DiagnosisGrade.model_validate({"level": level, "reason": ""}) for level in (1, 2, 3, 4, 5)]
    assert [grade.score for grade in grades] == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("level", [0, 6, -1])
def test_a_level_out_of_range_is_an_error_and_never_clipped(level: int) -> None:
    for said in (level, True):
        with pytest.raises(ValidationError):
            DiagnosisGrade.model_validate({"level": said, "reason": ""})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Type 2 Diabetes Mellitus", "diabetes mellitus, type II"),
        ("T2DM", "type 2 diabetes"),
        ("Crohn's disease", "Crohn disease"),
        ("Iron deficiency anaemia", "iron-deficiency anemia"),
        ("Myocardial infarction (MI)", "heart attack"),
        ("suspected acute appendicitis", "Acute appendicitis."),
        ("Fracture of the left femoral neck", "left femoral neck fracture"),
        ("Benign prostate hyperplasia", "benign prostatic hyperplasia"),
        ("Kidney stones", "Nephrolithiasis"),
        ("Hepatitis A", "hepatitis  a"),
        ("2型糖尿病", "糖尿病，2型"),
        ("甲亢", "甲状腺功能亢进症"),
        ("左侧股骨颈骨折", "股骨颈骨折（左）"),
        ("急性阑尾炎？", "急性阑尾炎"),
        ("缺铁引起的贫血", "缺铁性贫血"),
        ("厌食症，神经性", "神经性厌食"),
        ("高血压病", "高血压"),
        ("Lack of vitamin D", "Vitamin D deficiency"),
        ("Acute appendicitis (K35.8)", "Acute appendicitis"),
        ("急性阑尾炎（ICD-10 K35.80）", "急性阑尾炎"),
        ("肺炎（ICD-10：J18.9）", "肺炎"),
        ("COVID-19 (U07.1)", "COVID-19"),
    ],
)
def test_spellings_of_one_diagnosis_are_the_same(one: str, other: str) -> None:
    assert name_agreement(one, other) == SAME


@pytest.mark.parametrize(
    ("one", "other", "agreement"),
    [
        ("diabetes", "diabetes insipidus", RELATED),
        ("appendicitis", "acute appendicitis", RELATED),
        ("胃炎", "急性胃炎", RELATED),
        ("femoral neck fracture", "left femoral neck fracture", RELATED),
        ("diabetes mellitus", "diabetes insipidus", DIFFERENT),
        ("hyperthyroidism", "hypothyroidism", DIFFERENT),
        ("primary hyperparathyroidism", "primary hypoparathyroidism", DIFFERENT),
        ("hypertension", "hypotension", DIFFERENT),
        ("type 1 diabetes", "type 2 diabetes", DIFFERENT),
        ("Hepatitis A", "Hepatitis B", DIFFERENT),
        ("Burst fracture (T11)", "Burst fracture (T12)", DIFFERENT),
        ("left femoral neck fracture", "right femoral neck fracture", DIFFERENT),
        ("acute pancreatitis", "chronic pancreatitis", DIFFERENT),
        ("diverticulitis", "diverticulosis", DIFFERENT),
        ("ST elevation myocardial infarction", "Non-ST elevation myocardial infarction", DIFFERENT),
        ("左侧肾结石", "右侧肾结石", DIFFERENT),
        ("糖尿病", "尿崩症", DIFFERENT),
        ("良性前列腺肿瘤", "恶性前列腺肿瘤", DIFFERENT),
        ("甲状腺功能亢进症", "甲状腺功能减退症", DIFFERENT),
    ],
)
def test_names_that_look_alike_are_not_the_same(one: str, other: str, agreement: float) -> None:
    assert name_agreement(one, other) == agreement


@pytest.mark.parametrize(
    ("predicted", "level"),
    [
        (["acute appendicitis", "hypertension"], 5),
        (["hypertension", "acute appendicitis"], 4),
        (["acute appendicitis"], 4),
        (["acute appendicitis", "hypertension", "gout"], 4),
        (["acute appendicitis", "gout"], 3),
        (["hypertension"], 3),
        (["acute appendicitis", "gout", "asthma", "psoriasis"], 2),
        (["appendicitis"], 2),
        (["gout"], 1),
        ([], 1),
        (["", " "], 1),
    ],
)
def test_levels_follow_the_documented_table(predicted: list[str], level: int) -> None:
    grade = grade_offline(predicted, ["acute appendicitis", "hypertension"])
    assert grade is not None and grade.level == level and grade.score == (level - 1) / 4


def test_naming_everything_one_can_think_of_is_mostly_wrong() -> None:
    grade = grade_offline(["gout", *(f"disease {number}" for number in range(2, 12))], ["gout"])
    assert grade is not None and grade.level == 2


def test_naming_one_diagnosis_twice_is_no_extra_one() -> None:
    grade = grade_offline(["MI", "myocardial infarction"], ["Myocardial infarction"])
    assert grade is not None and grade.level == 5


@given(
    st.lists(st.sampled_from(LIKE), max_size=4, unique=True), st.lists(st.sampled_from(LIKE), max_size=4, unique=True)
)
def test_names_are_paired_so_that_most_agree_and_the_principal_ones_first(given: list[str], wanted: list[str]) -> None:
    rows = [tuple(sorted(name_words(name))) for name in given]
    columns = [tuple(sorted(name_words(name))) for name in wanted]

    def merit(pairs: list[tuple[int, int, float]]) -> tuple[int, bool, bool, int]:
        same = {(i, j) for i, j, strength in pairs if strength == SAME}
        return len(same), any(j == 0 for _, j in same), (0, 0) in same, len(pairs)

    def strength(i: int, j: int) -> float:
        return name_agreement(given[i], wanted[j]) if j < len(wanted) else DIFFERENT

    places = range(max(len(given), len(wanted)))
    every = (
        [(i, j, strength(i, j)) for i, j in zip(range(len(given)), order, strict=False) if strength(i, j)]
        for order in permutations(places)
    )
    assert merit(_pair(rows, columns)) == max(map(merit, every))


def test_the_reason_counts_what_is_not_in_the_reference() -> None:
    grade = grade_offline(["asthma", "gout", "diabetes insipidus", "psoriasis"], ["gout", "diabetes"])
    assert grade is not None and grade.reason == (
        "1 of 2 reference diagnoses named, 1 related, 2 not in the reference; the principal one is named."
    )


@pytest.mark.parametrize("reference", [[], [""], ["  "]])
def test_a_case_without_a_reference_diagnosis_is_unscored(reference: list[str]) -> None:
    assert grade_offline(["gout"], reference) is None


@given(NAMES, NAMES)
def test_agreement_is_symmetric_and_full_with_itself(one: str, other: str) -> None:
    assert name_agreement(one, other) == name_agreement(other, one)
    assert name_agreement(one, one) == SAME


@pytest.mark.slow
@given(LISTS)
def test_the_reference_itself_is_completely_right_and_nothing_completely_wrong(names: list[str]) -> None:
    right, nothing = grade_offline(names, names), grade_offline([], names)
    if right is None:
        assert nothing is None
    else:
        assert right.level == 5 and nothing is not None and nothing.level == 1


@pytest.mark.slow
@given(LISTS, LISTS, st.randoms())
def test_the_order_of_the_secondary_diagnoses_does_not_matter(
    predicted: list[str], reference: list[str], random: Random
) -> None:
    predicted = [name for name in predicted if normalise(name)]  # the first one is the principal one
    grade = grade_offline(predicted, reference)
    shuffled = predicted[1:]
    random.shuffle(shuffled)
    assert grade_offline(predicted[:1] + shuffled, reference) == grade
    assert grade is None or 0 <= grade.score <= 1


def test_a_grade_may_be_written_as_a_text_and_stays_on_its_scale() -> None:
    assert DiagnosisGrade.model_validate({"level": "4", "reason": ""}).level == 4
    for level in ("6", "four", ["4"]):
        with pytest.raises(ValueError):
            DiagnosisGrade.model_validate({"level": level, "reason": ""})
