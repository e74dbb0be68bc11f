from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cases import load_cases
from cases.text.statements import statements
from scoring.metrics import content
from scoring.metrics.claims import MAX_CLAIMS, ReportClaims, claim_recall, entailed, split_claims
from scoring.metrics.stated_share import mostly_stated
from tests.support.claims import judge_offline

REPORT_EN = (
    "The heart is not enlarged. There is a small left pleural effusion. "
    "A 1.5 cm nodule is seen in the right upper lobe. No pneumothorax, consolidation or rib fracture."
)
REPORT_ZH = "双肺纹理增多。右肺上叶见直径约15mm结节，边界清楚；左侧胸腔少量积液。未见气胸及骨折。"
WORDS = st.sampled_from(
    ["no", "left", "right", "effusion", "15", "mm", ".", ";", ",", "未见", "左", "骨折", "。", "，", "\n"]
)
TEXTS = st.one_of(st.text(max_size=120), st.lists(WORDS, max_size=30).map(" ".join))


def test_an_english_sentence_is_read_by_english_words_alone_as_it_is_by_all() -> None:
    terms = content.known_terms()
    told = [text for case in load_cases()[::6] for text in case.examinations.results.values() if text.isascii()]
    sentences = [sentence for text in [REPORT_EN, *told] for sentence in statements(text)]
    any_language, english = (
        [[(one.lastindex, one.span()) for one in pattern.finditer(sentence)] for sentence in sentences]
        for pattern in (terms.any_language, terms.english)
    )
    assert any_language == english
    assert len(sentences) > 100 and sum(map(len, english)) > 200


@pytest.mark.parametrize(
    "claim",
    [
        "Small left pleural effusion",
        "No rib fracture",
        "No pneumothorax is seen",
        "A nodule of 15 mm in the right upper lobe",
        "A nodule is present in the upper lobe on the right",
        "The heart isn't enlarged",
    ],
)
def test_a_claim_in_other_words_is_entailed(claim: str) -> None:
    assert entailed([claim], REPORT_EN) == [True]


@pytest.mark.parametrize(
    ("claim", "report", "expected"),
    [
        ("The ventricles, sulci, cisterns, orbits and sinuses.", "The ventricles, sulci, cisterns and orbits.", True),
        ("The ventricles, sulci, cisterns, orbits and sinuses.", "The ventricles, sulci and cisterns.", False),
        ("Fracture of alpha beta gamma delta.", "Fracture of alpha beta.", True),
        ("Fracture of alpha beta gamma delta.", "Fracture of alpha.", False),
    ],
)
def test_a_claim_needs_four_fifths_of_its_words_and_half_of_those_beside_a_finding(
    claim: str, report: str, expected: bool
) -> None:
    assert entailed([claim], report) == [expected]


@pytest.mark.parametrize(
    "claim",
    [
        "Small right pleural effusion",
        "No pleural effusion",
        "Pneumothorax",
        "A rib fracture is seen",
        "The heart is enlarged",
        "A 15 cm nodule in the right upper lobe",
        "A 1.5 cm nodule in the left upper lobe",
        "Bilateral pleural effusion",
        "Large left pleural effusion",
        "Hiatal hernia",
        "",
        "!?",
    ],
)
def test_a_claim_of_another_side_number_polarity_or_thing_is_not_entailed(claim: str) -> None:
    assert entailed([claim], REPORT_EN) == [False]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("左侧胸腔积液", True),
        ("右肺上叶结节，直径1.5厘米", True),
        ("未见骨折", True),
        ("无气胸", True),
        ("右侧胸腔积液", False),
        ("左肺上叶结节", False),
        ("右肺上叶结节，直径3厘米", False),
        ("可见骨折", False),
        ("边界不清楚的结节", False),
    ],
)
def test_chinese_claims_follow_the_same_rules(claim: str, expected: bool) -> None:
    assert entailed([claim], REPORT_ZH) == [expected]


@pytest.mark.parametrize(
    ("claim", "report", "expected"),
    [
        ("磨牙位点牙槽骨宽7.8毫米，距神经管13.2毫米。", "磨牙缺牙区牙槽嵴宽度7.8毫米，至神经管距离13.2毫米。", True),
        ("磨牙位点牙槽骨宽7.8毫米，距神经管13.2毫米。", "磨牙缺牙区牙槽嵴宽度7.8毫米，至神经管距离3.2毫米。", False),
        ("食管黏膜糜烂。", "胃窦有一处溃疡。食管黏膜光滑。", False),
        ("印象：腺样体肥大。", "结论：腺样体没有肥大。", False),
        ("Ultrasound shows stones in the gallbladder.", "Ultrasound shows a gallbladder without stones.", False),
    ],
)
def test_a_clause_of_the_same_meaning_states_a_claim_but_none_that_calls_it_normal(
    claim: str, report: str, expected: bool
) -> None:
    assert entailed([claim], report) == [expected]


def test_hours_are_no_heart_rate() -> None:
    assert entailed(["Heart rate 90"], "HR 90") == [True]
    assert content.stated("Pain for 24 hr")[-1].word == content.stated("150 mL/hr")[-1].word == "hr"


def test_a_bilateral_finding_entails_the_finding_on_one_side() -> None:
    assert entailed(["Left pleural effusion"], "Bilateral pleural effusion.") == [True]


def test_a_claim_may_be_stated_over_two_sentences_but_not_over_three() -> None:
    claim = ["A nodule in the upper lobe with calcification"]
    assert entailed(claim, "A nodule in the upper lobe. It has calcification.") == [True]
    assert entailed(claim, "A nodule is there. The heart is normal. Calcification of the upper lobe.") == [False]


def test_claims_are_distinct_sentences_and_at_most_thirty() -> None:
    assert split_claims("No effusion. NO effusion. Heart normal.") == ["No effusion", "Heart normal"]
    many = split_claims(". ".join(f"Finding number {number} is present" for number in range(50)))
    assert len(many) == MAX_CLAIMS and many[0] == "Finding number 0 is present"


def test_recall_weighs_every_claim_of_a_case_the_same_whichever_report_it_is_from() -> None:
    long = ReportClaims.pair("CT", ["a", "b", "c"], [True, True, True])
    short = ReportClaims.pair("MRI", ["d"], [False])
    assert claim_recall([long, short]) == 0.75


def test_no_claim_is_unscored_and_an_empty_output_scores_zero() -> None:
    assert claim_recall([]) is None
    assert claim_recall([judge_offline("CT", "", "Heart normal.")]) is None
    assert claim_recall([judge_offline("CT", "Heart normal.", "")]) == 0


def test_verdicts_must_fit_the_claims_in_number() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ReportClaims.pair("CT", ["a", "b"], [True])
    with pytest.raises(ValidationError):
        ReportClaims.pair("CT", ["a"] * 31, [True] * 31)


@given(TEXTS)
def test_a_report_entails_all_of_its_own_claims(text: str) -> None:
    judged = judge_offline("CT", text, text)
    assert claim_recall([judged]) in (1.0, None)
    assert claim_recall([judge_offline("CT", text, "")]) in (0.0, None)


@pytest.mark.slow
@given(TEXTS, TEXTS, st.randoms())
def test_recall_of_any_texts_is_in_range_and_ignores_the_order_of_claims(one: str, other: str, random: Random) -> None:
    reports = [judge_offline("CT", one, other), judge_offline("MRI", other, one)]
    recall = claim_recall(reports)
    assert recall is None or 0 <= recall <= 1
    claims = split_claims(one)
    flags = dict(zip(claims, entailed(claims, other), strict=True))
    random.shuffle(claims)
    assert dict(zip(claims, entailed(claims, other), strict=True)) == flags
    assert claim_recall(reports[::-1]) == recall


@pytest.mark.parametrize(
    ("claim", "report", "expected"),
    [
        ("Fever.", "Temperature 38.5 °C.", True),
        ("Fever.", "Temperature 101.3 °F.", True),
        ("Fever.", "She has had a temperature for three days.", True),
        ("Fever.", "Temperature 36.8 °C.", False),
        ("Fever.", "Body temperature 98.4 °F.", False),
        ("Fever.", "The temperature is normal.", False),
        ("Fever.", "Afebrile.", False),
        ("No fever.", "Afebrile.", True),
        ("No fever.", "Normal temperature.", True),
        ("Temperature 36.8 °C.", "Temperature 36.8 °C, pulse 90/min.", True),
        ("Temperature 38.5 °C.", "Temperature 36.8 °C.", False),
        ("发热", "体温38.9℃", True),
        ("发热", "体温36.5℃", False),
        ("发热", "体温正常", False),
    ],
)
def test_a_temperature_states_a_fever_only_if_it_is_one(claim: str, report: str, expected: bool) -> None:
    assert entailed([claim], report) == mostly_stated([claim], report) == [expected]
