"""The judges by rule read the same facts however they are typed, and no other measure, organ or degree as the same."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import load_cases
from scoring.consultation import reference_parts
from scoring.metrics.claims import entailed
from scoring.metrics.stated_share import mostly_stated, stated_share

PARTS = ("symptoms", "examinations", "basis", "treatment")
TEXTS = [text for case in load_cases("builtin")[::12] for part in PARTS if (text := reference_parts(case)[part])]
WIDE = {sign: sign + 0xFEE0 for sign in map(ord, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")}


def spaced_hard(text: str) -> str:
    return text.replace(" ", "\u00a0")


def wide(text: str) -> str:
    return text.translate(WIDE)


def with_invisible(text: str) -> str:
    return "\u200b".join((text[:7], text[7:20], text[20:]))


@given(st.sampled_from(TEXTS), st.sampled_from([spaced_hard, wide, with_invisible]))
def test_spaces_wide_signs_and_invisible_ones_change_nothing(text: str, typed: Callable[[str], str]) -> None:
    assert stated_share(typed(text), text) == stated_share(text, typed(text)) == 1.0


@given(st.sampled_from(TEXTS))
def test_to_say_it_twice_changes_nothing(text: str) -> None:
    assert stated_share(f"{text}\n{text}", text) == stated_share(text, f"{text}\n{text}") == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("White cell count 15.2×10⁹/L", "WBC 15.2 x 10^9/L"),
        ("Blood pressure 150/95 mmHg", "BP 150/95 mm Hg"),
        ("血压150/95 mmHg", "血压150／95毫米汞柱"),
        ("1,500 mL of blood", "1500 ml of blood"),
        ("Temperature 39.2 °C", "Temperature 39.2 degrees"),
        ("体温39.2℃", "体温39.2度"),
        ("Hemoglobin 82 g/L", "Hb 82 g/L"),
        ("血红蛋白82 g/L", "血红蛋白82克/升"),
        ("布洛芬400 mg", "布洛芬400毫克"),
        ("a 12 mm nodule", "a nodule of twelve millimeters"),
        ("CRP 12 mg/L", "C-reactive protein 12 mg/L"),
    ],
)
def test_units_numbers_and_abbreviations_are_read_however_they_are_written(one: str, other: str) -> None:
    assert stated_share(one, other) == stated_share(other, one) == 1.0
    assert entailed([one], other) == entailed([other], one) == [True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Metformin 500 mg twice daily", "Metformin 0.5 g twice daily"),
        ("Hemoglobin 8.2 g/dL", "Hemoglobin 82 g/L"),
        ("Fever for two weeks", "Fever for 14 days"),
        ("Blood loss of 1.5 L", "Blood loss of 1,500 mL"),
        ("布洛芬400毫克", "布洛芬0.4克"),
        ("青霉素200万单位", "青霉素2,000,000单位"),
    ],
)
def test_an_amount_in_another_unit_is_the_same_where_it_is_as_much(one: str, other: str) -> None:
    assert stated_share(one, other) == stated_share(other, one) == 1.0
    assert entailed([one], other) == entailed([other], one) == mostly_stated([one], other) == [True]


@pytest.mark.parametrize(
    ("claim", "report"),
    [
        ("双肺呼吸音清。", "双肺呼吸音不清。"),
        ("肝脏增大。", "脾脏增大。"),
        ("肝脏增大。", "肝脏大小正常。"),
        ("White cell count 15.2×10⁹/L", "White cell count 5.2×10⁹/L"),
        ("1,500 mL of blood", "500 mL of blood"),
        ("Amoxicillin 500 mg three times daily", "Clarithromycin 500 mg three times daily"),
        ("Infliximab by infusion", "Adalimumab by infusion"),
        ("口服阿奇霉素0.5g，每日一次。", "口服左氧氟沙星0.5g，每日一次。"),
        ("英夫利昔单抗静脉输注。", "阿达木单抗皮下注射。"),
    ],
)
def test_another_organ_degree_or_number_is_not_the_same(claim: str, report: str) -> None:
    assert entailed([claim], report) == [False]
    assert stated_share(report, claim) <= 0.5 < stated_share(claim, claim)


@pytest.mark.parametrize(
    ("claim", "report"),
    [
        ("The left kidney has a 6 mm stone in its lower pole.", "The left ureter has a 6 mm stone in its lower third."),
        ("The mitral valve is thickened with severe leakage.", "The aortic valve is thickened with severe leakage."),
        ("左肾下极可见一枚6mm结石。", "左侧输尿管下段可见一枚6mm结石。"),
    ],
)
def test_the_finding_of_another_organ_supports_no_claim(claim: str, report: str) -> None:
    assert entailed([claim], report) == [False]


def test_a_drug_is_the_same_behind_another_word() -> None:
    assert stated_share("予红霉素0.5g，每日三次。", "红霉素0.5g，每日三次。") == 1.0
    assert stated_share("睡前辛伐他汀20mg。", "每晚辛伐他汀20mg。") == 0.75
    assert stated_share("Amoxicillin 1 g; then ramipril 5 mg daily.", "Ramipril 5 mg daily.") == 1.0


@pytest.mark.parametrize(
    ("report", "key"),
    [
        ("头孢曲松抗感染治疗", "头孢抗感染治疗"),
        ("头孢曲松抗感染治疗", "头孢菌素抗感染治疗"),
        ("低分子量肝素抗凝", "低分子肝素抗凝"),
        ("长期阿托伐他汀治疗", "长期他汀治疗"),
        ("强化他汀治疗", "强化瑞舒伐他汀治疗"),
        ("抑酸治疗，用质子泵抑制剂如奥美拉唑", "抑酸治疗，用质子泵抑制剂如泮托拉唑"),
        ("A proton pump inhibitor such as esomeprazole", "A proton pump inhibitor such as omeprazole"),
        ("Treat high blood lipids by diet and atorvastatin", "Treat high cholesterol by diet"),
    ],
)
def test_a_class_an_example_or_a_measure_is_no_other_drug(report: str, key: str) -> None:
    assert stated_share(report, key) >= 0.7


@pytest.mark.parametrize(("one", "other"), [("Ejection fraction 35 %", "LVEF 35%"), ("左室射血分数35%", "EF 35%")])
def test_a_measure_is_the_same_by_its_abbreviation(one: str, other: str) -> None:
    assert entailed([one], other) == entailed([other], one) == [True]


@pytest.mark.parametrize(
    ("claim", "report", "stated"),
    [
        ("He drinks two beers a day.", "His brother drinks two beers a day.", False),
        ("每天喝两瓶啤酒。", "弟弟每天喝两瓶啤酒。", False),
        ("His father died of colon cancer.", "His mother died of colon cancer.", False),
        ("父亲死于结肠癌。", "母亲死于结肠癌。", False),
        ("Fever for three days.", "His mother has noticed fever for three days.", True),
        ("Fever for three days.", "The mother reports fever for three days.", True),
        ("发热三天。", "母亲发现其发热三天。", True),
        ("His father died of colon cancer.", "The father died of colon cancer.", True),
        ("Family history: colon cancer.", "His father had colon cancer.", True),
        ("His father has asthma.", "He has asthma.", False),
        ("His father had diabetes and hypertension.", "He has diabetes and hypertension.", False),
        ("母亲患乳腺癌。", "患者本人患乳腺癌。", False),
        ("父亲有高血压、冠心病史。", "有高血压、冠心病史。", False),
        ("His father has asthma.", "Asthma in the father.", True),
        ("His brother has severe asthma.", "One sibling has severe asthma.", True),
        ("母亲患乳腺癌。", "家里有人患乳腺癌。", True),
        ("His father had colon cancer.", "Paternal history of colon cancer.", True),
        ("His father had colon cancer.", "A first-degree relative had colon cancer.", True),
        ("Her grandmother had breast cancer.", "Grandma had breast cancer.", True),
        ("父亲有高血压。", "父有高血压。", True),
        ("舅舅有高血压。", "伯父有高血压。", True),
        ("The patient and his brother had diarrhea.", "The patient had diarrhea.", True),
    ],
)
def test_what_a_relative_has_is_not_the_patients(claim: str, report: str, stated: bool) -> None:
    assert (stated_share(report, claim) > 0.5) == stated
    assert stated or entailed([claim], report) == [False]


def test_that_no_relative_has_an_illness_is_stated_beside_what_one_had() -> None:
    none = "No relative has had stomach cancer."
    assert stated_share(f"His father had a stomach operation for bleeding. {none}", none) == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Metformin 500 mg twice daily", "Metformin 500 g twice daily"),
        ("Levothyroxine 50 µg daily", "Levothyroxine 50 mg daily"),
        ("Glucose 7.0 mmol/L", "Glucose 7.0 mg/dL"),
        ("Creatinine 1.2 mg/dL", "Creatinine 1.2 mg/L"),
        ("Prednisone 1 mg/kg", "Prednisone 1 mg"),
        ("Penicillin 2 million units", "Penicillin 2 units"),
        ("Insulin 10 units", "Insulin 10 mL"),
        ("Weight 70 kg", "Weight 70 pounds"),
        ("Cough for three days", "Cough for three weeks"),
        ("布洛芬400毫克", "布洛芬400克"),
        ("左甲状腺素50微克", "左甲状腺素50毫克"),
        ("血糖7.0 mmol/L", "血糖7.0 mg/dL"),
        ("青霉素200万单位", "青霉素200单位"),
        ("病程三天", "病程3周"),
        ("Metformin 500 mg", "Metformin 0.05 g"),
        ("Metformin twice daily", "Metformin three times daily"),
        ("二甲双胍每日两次", "二甲双胍每日三次"),
        ("体重70公斤", "体重70斤"),
    ],
)
def test_a_number_of_another_unit_is_not_the_same(one: str, other: str) -> None:
    for claim, report in ((one, other), (other, one)):
        assert entailed([claim], report) == [False] and mostly_stated([claim], report) == [False]
        assert stated_share(report, claim) < stated_share(claim, claim) - 0.3
    both = f"{one}. {other}."
    assert entailed([one, other], both) == [True, True] and stated_share(both, one) > 0.9
