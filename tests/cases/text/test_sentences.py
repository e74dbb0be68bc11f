import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.text.sentences import clauses, entries, entries_of, first_sentence, pieces, sentences

TEXTS = st.lists(
    st.sampled_from(["Dr", "No", "e.g", "E", "p.m", "mm", "5", "12", "肺", "清", " ", "\n", "\u2028"])
    | st.text(alphabet="ab 3.。!?；，)”\"'-:\n", max_size=4)
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pulse 72.5, RR 18. Seen by Dr. Wu vs. Dr. Li.", ["Pulse 72.5, RR 18.", "Seen by Dr. Wu vs. Dr. Li."]),
        ("Tylenol No. 3 p.r.n. for pain. No. She left.", ["Tylenol No. 3 p.r.n. for pain.", "No.", "She left."]),
        ("E. coli, e.g. in urine. Hepatitis C. He drinks.", ["E. coli, e.g. in urine.", "Hepatitis C.", "He drinks."]),
        ("Fell at 5 p.m. today. It was 6 p.m. He slept.", ["Fell at 5 p.m. today.", "It was 6 p.m.", "He slept."]),
        ("1. Asthma. 2. Gout\n- Spur\nA. Scar", ["1. Asthma.", "2. Gout", "- Spur", "A. Scar"]),
        ("Plan: 1. rest; 2. fluids.", ["Plan: 1. rest; 2. fluids."]),
        ('He said "ouch." Then he left.', ['He said "ouch."', "Then he left."]),
        ("1.双肺清.2.心影正常.", ["1.双肺清.", "2.心影正常."]),
        ("体温37.5℃；咳嗽。疼吗?疼！", ["体温37.5℃；", "咳嗽。", "疼吗?", "疼！"]),
        ("回声团（黄体？），大小1.2cm。他说“痛。”走了", ["回声团（黄体？），大小1.2cm。", "他说“痛。”", "走了"]),
        ("?Pneumonia... today.", ["?Pneumonia...", "today."]),
        ("...", ["..."]),
        (" \n", []),
    ],
)
def test_sentences_end_at_their_stops_and_lines_but_not_within_numbers_and_abbreviations(
    text: str, expected: list[str]
) -> None:
    assert sentences(text) == expected
    assert first_sentence(text) == (expected or [""])[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. Perforation, 2. Stones, liver cyst, 3. Peritonitis", ["Perforation", "Stones, liver cyst", "Peritonitis"]),
        ("1. 急性胆囊炎；2. 胆囊结石。", ["急性胆囊炎", "胆囊结石"]),
        ("1、2型糖尿病肾病2、高血压3级", ["2型糖尿病肾病", "高血压3级"]),
        ("1、第2、3肋骨骨折；2、气胸", ["第2、3肋骨骨折", "气胸"]),
        (
            "1. Diabetes type 2. 2. Fracture of L1. 3. Cyst, 3.5 cm",
            ["Diabetes type 2", "Fracture of L1", "Cyst, 3.5 cm"],
        ),
        ("(1) Gout (2) Flu", ["Gout", "Flu"]),
        ("①甲②乙", ["甲", "乙"]),
        ("1. 肺癌（1）腺癌（2）转移；2. 贫血", ["肺癌（1）腺癌（2）转移", "贫血"]),
        ("1. Gout", ["Gout"]),
    ],
)
def test_a_list_that_is_numbered_in_order_is_parted(text: str, expected: list[str]) -> None:
    assert entries(text) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1.右肱骨干骨折", "2.高血压病2级"], ["右肱骨干骨折", "高血压病2级"]),
        (["1. Gout; 2. Gallstones", "3. Asthma"], ["Gout", "Gallstones", "Asthma"]),
        (["（1）甲", "（2）乙"], ["甲", "乙"]),
        (["1. Gout", "1. Asthma"], ["Gout", "Asthma"]),
        (["Gout", "2型糖尿病", "1.5 cm cyst"], ["Gout", "2型糖尿病", "1.5 cm cyst"]),
        (["Gout", "3. Asthma"], ["Gout", "3. Asthma"]),
        (["Burn", "2. degree burn"], ["Burn", "2. degree burn"]),
        (["1. AV block", "2:1 AV block"], ["AV block", "2:1 AV block"]),
        (["1：心房扑动", "2：1房室传导"], ["心房扑动", "2：1房室传导"]),
        ([], []),
        (["1.肺炎", "2.2型糖尿病", "3.高血压"], ["肺炎", "2型糖尿病", "高血压"]),
        (["1：2型糖尿病 2：高血压"], ["2型糖尿病", "高血压"]),
    ],
)
def test_numbers_of_a_list_may_run_on_from_text_to_text(texts: list[str], expected: list[str]) -> None:
    assert entries_of(texts) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1. A; 3. B",
        "1. A; 2. B; 2. C",
        "2. Gout",
        "Both 1. A 2. B",
        "1.5 cm cyst",
        "1型糖尿病",
        "1、左侧2、3、4肋骨骨折",
        "1.",
        "",
    ],
)
def test_a_list_of_which_nobody_can_tell_the_parts_stays_one_text(text: str) -> None:
    assert entries(text) == [text]


@given(TEXTS | st.text(max_size=60))
def test_cutting_a_text_into_sentences_loses_nothing_but_white_space(text: str) -> None:
    assert "".join(pieces(text)) == text
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(TEXTS | st.text(max_size=60))
def test_a_sentence_is_not_cut_again(text: str) -> None:
    assert all(sentences(sentence) == [sentence] for sentence in sentences(text))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("No fever, 1,000 mg; at 5:30 but cough", ["No fever", "1,000 mg", "at 5:30", "but cough"]),
        ("无发热、咳嗽，但头晕；查体：清", ["无发热、咳嗽", "但头晕", "查体", "清"]),
    ],
)
def test_clauses_end_at_commas_and_before_but_and_not_within_numbers(sentence: str, expected: list[str]) -> None:
    assert clauses(sentence) == expected
