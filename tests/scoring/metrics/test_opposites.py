"""Whose finding, which organ's and how much of what a text tells of, before judges by rule."""

import pytest

from scoring.metrics.content import clauses_of, stated
from scoring.metrics.opposites import (
    alike,
    has_opposite,
    is_contrary,
    is_of_other_relatives,
    names_another_drug,
    names_another_organ,
    without_other_relatives,
)

PATIENTS = [
    "A 4-year-old boy brought in by his mother with fever and a rash",
    "He came with his father with abdominal pain",
    "The child, accompanied by his mother, has a fever",
    "Per mother has had fever for 3 days",
    "According to dad has a cough",
    "He lives with his brother with no help",
    "Cough since his father died",
    "Depressed since her mother died of cancer",
    "His mother has put cream on the rash",
    "My mother had to call an ambulance because of chest pain",
    "Infant of a mother with diabetes has a low blood sugar",
    "据其母亲患儿发热3天",
    "母亲患者均否认发热",
    "患儿由母亲抱入，有发热",
    "大姨妈有血块",
    "与父亲有矛盾后出现失眠",
    "妈妈有发现皮疹",
    "因母亲去世后失眠",
]


@pytest.mark.parametrize("report", PATIENTS)
def test_what_the_patient_has_is_not_a_relatives_who_is_only_named(report: str) -> None:
    assert without_other_relatives(report, "fever, 发热") == report


@pytest.mark.parametrize(
    ("report", "left"),
    [
        ("His brother has asthma.", ""),
        ("Patient says that his father has gout", "Patient says"),
        ("The patient's mother had breast cancer", ""),
        ("One of his brothers has hemophilia", ""),
        ("My father died of colon cancer, and I have a cough", "I have a cough"),
        ("Cough for 3 days, father has diabetes", "Cough for 3 days"),
        ("患者父亲有糖尿病，患者咳嗽3天", "患者患者咳嗽3天"),
        ("我咳嗽，我妈妈也有糖尿病", "我咳嗽，我"),
        ("其母患高血压", "其"),
        ("患者和父亲均有痛风", "患者和父亲均有痛风"),
        ("No cancer in the patient but his father had colon cancer", "No cancer in the patient"),
    ],
)
def test_only_what_a_relative_has_is_left_out_of_a_sentence(report: str, left: str) -> None:
    assert without_other_relatives(report, "In no apparent distress, a relatively minimal cough").strip() == left


@pytest.mark.parametrize(("theirs", "truth"), [("姑父有哮喘", "父亲有哮喘"), ("婶母有哮喘", "母亲有哮喘")])
def test_an_aunts_husband_is_no_father_and_an_uncles_wife_no_mother(theirs: str, truth: str) -> None:
    assert is_of_other_relatives(truth, theirs)


@pytest.mark.parametrize(
    ("theirs", "truth"),
    [
        ("父高血压，母糖尿病", "父亲有高血压"),
        ("父60岁，有高血压", "父亲有高血压"),
        ("父、兄均有痛风", "哥哥有痛风"),
        ("大伯有哮喘", "伯父有哮喘"),
        ("Fam hx: gout", "His father has gout"),
        ("His twin has hemophilia", "His brother has hemophilia"),
        ("One twin has hemophilia", "His brother has hemophilia"),
        ("父亡母曾患痛风", "母亲有痛风"),
    ],
)
def test_a_relative_is_named_by_a_single_character_or_a_wider_word(theirs: str, truth: str) -> None:
    assert not is_of_other_relatives(truth, theirs)


@pytest.mark.parametrize(
    "words",
    [
        "酵母菌有生长",
        "酵母有生长",
        "母乳喂养",
        "字母",
        "川贝母、知母",
        "益母草",
        "家有母羊",
        "母胎监护",
        "覆云母样屑",
        "水母蜇伤",
    ],
)
def test_a_character_within_another_word_names_no_relative(words: str) -> None:
    assert is_of_other_relatives("母亲有痛风", words)


@pytest.mark.parametrize("words", ["Delivered twins", "Her twin pregnancy", "Next of kin: none"])
def test_twins_that_are_born_and_who_is_to_be_called_are_no_family_history(words: str) -> None:
    assert is_of_other_relatives("His mother has gout", words)


@pytest.mark.parametrize("truth", ["Family history: asthma", "Both parents have asthma", "His brother has asthma"])
def test_nothing_is_left_out_where_the_truth_speaks_of_the_family(truth: str) -> None:
    assert without_other_relatives("His brother has asthma", truth) == "His brother has asthma"


@pytest.mark.parametrize(
    ("one", "other", "another"),
    [
        ("A cyst of the right ovary", "Both ovaries have a cyst", False),
        ("Stones in the gall bladder", "Gallbladder stones", False),
        ("The kidneys are normal", "Normal kidney", False),
        ("Heart and lungs are normal", "Lungs are clear", False),
        ("脾气暴躁", "肝火旺，易怒", False),
        ("胃口差", "肝病后不想吃饭", False),
        ("肝脏增大", "脾脏增大", True),
        ("Enlarged liver", "Enlarged spleen", True),
        ("Gallbladder stones", "Bladder stones", True),
        ("Cyst of the kidney", "Renal cyst, normal liver", False),
        ("The heart is enlarged", "Cardiac enlargement, clear lungs", False),
        ("Stone in the left ureter", "Ureteral stone, hydronephrosis of the kidney", False),
        ("A murmur at the heart valve", "A murmur at the aortic valve", False),
        ("Stricture of the urethra", "Ureteral stricture", True),
        ("Hepatic cyst", "Renal cyst", True),
        ("尿道狭窄", "输尿管狭窄", True),
    ],
)
def test_forms_of_one_organs_name_are_one_organ(one: str, other: str, another: bool) -> None:
    assert names_another_organ(one, other) == another


@pytest.mark.parametrize("word", ["Seen in April", "High cholesterol"])
def test_a_word_that_ends_as_drugs_do_is_no_drug(word: str) -> None:
    assert names_another_drug("Enalapril", "Atorvastatin") and not names_another_drug(word, "Atorvastatin")


def test_a_drug_is_the_same_in_another_spelling() -> None:
    assert names_another_drug("Amoxicillin", "Enalapril") and not names_another_drug("Amoxicillin", "Amoxycillin")


def test_words_before_a_chinese_name_make_no_other_drug_of_it() -> None:
    assert names_another_drug("静滴青霉素", "头孢呋辛")
    said = ["青霉素", "静滴青霉素", "注射青霉素", "静点青霉素", "打青霉素", "对青霉素过敏"]
    assert not any(names_another_drug(one, other) for one in said for other in said)
    assert not names_another_drug("激素地塞米松", "地塞米松")
    assert names_another_drug("静推呋塞米", "皮下肝素") and names_another_drug("静滴诺氟沙星", "静滴氧氟沙星")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("flu", "flu", True),
        ("infect", "infection", True),
        ("abdomen", "abdominal", True),
        ("cat", "cats", False),
        ("cough", "fever", False),
        ("10000mg", "100005mg", False),
        ("疼痛", "腹部疼痛", True),
        ("腹部疼痛", "疼痛", True),
        ("痛", "疼痛", False),
        ("疼痛", "痛", False),
        ("疼痛", "发热", False),
        ("疼痛", "pain", False),
    ],
)
def test_words_are_alike_by_their_beginning_or_in_chinese_as_parts_but_never_as_numbers(
    one: str, other: str, same: bool
) -> None:
    assert alike(one, other) == same


@pytest.mark.parametrize(
    ("one", "other", "contrary"),
    [
        ("White cells are higher than normal", "Elevated white cells", False),
        ("Calcium above the normal range", "Calcium is elevated", False),
        ("白细胞高于正常", "白细胞升高", False),
        ("体重超过正常值", "体重增高", False),
        ("White cells are normal", "Elevated white cells", True),
        ("White cells are not normal", "Elevated white cells", False),
        ("White cells increased and then decreased", "White cells decreased", False),
        ("White cells increased and then decreased", "White cells increased", False),
        ("白细胞正常", "白细胞升高", True),
    ],
)
def test_what_is_above_normal_is_not_normal(one: str, other: str, contrary: bool) -> None:
    (first, *_), (second, *_) = clauses_of(one), clauses_of(other)
    assert is_contrary(first, second) == contrary


@pytest.mark.parametrize(
    ("clause", "others", "opposite"),
    [
        ("The pain got worse", ["The pain got better"], True),
        ("The pain got worse", ["The pain got better", "The pain got worse"], False),
        ("Increased pain", ["Decreased appetite"], False),
        ("Increased pain of the left knee", ["Decreased pain and swelling of the skin of a hand after a fall"], False),
        ("Pulse 150/min", ["Pulse 94/min"], True),
        ("Pulse 94/min", ["Pulse 150/min", "After an hour of rest in bed 94/min"], False),
    ],
)
def test_a_clause_has_its_opposite_in_those_that_share_most_with_it_and_much(
    clause: str, others: list[str], opposite: bool
) -> None:
    (one,) = clauses_of(clause)
    assert has_opposite(one, clauses_of("\n".join(others))) is opposite


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("every 4 hr", "heart"),
        ("24-hr urine", "heart"),
        ("80 km/hr", "heart"),
        ("RR interval of 800 ms", "breath"),
        ("Protein C 10 mg/L", "crp"),
        ("1克罗恩病", "g"),
        ("2克氏针", "g"),
    ],
)
def test_an_abbreviation_or_unit_that_means_something_else_is_not_read_as_one(text: str, name: str) -> None:
    assert name not in {each.word for each in stated(text)}
