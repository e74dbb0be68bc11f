import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.text.statements import mentions, statements


def read(sentence: str) -> dict[str, tuple[bool, str]]:
    """Each word with whether it is negated, and its sides by their first letters."""
    return {
        mention.word: (mention.negated, "".join(sorted(side[0] for side in mention.sides)))
        for mention in mentions(sentence)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lungs clear. No effusion; heart normal.", ["Lungs clear", "No effusion", "heart normal"]),
        ("A 1.5 cm nodule, e.g. a cyst. Approx. 3 mm.", ["A 1.5 cm nodule, e.g. a cyst", "Approx. 3 mm"]),
        ("Seen by Dr. Wu. S. aureus grew vs. none.", ["Seen by Dr. Wu", "S. aureus grew vs. none"]),
        (
            "FINDINGS:\n1. Lungs clear. 2. No effusion.\n(3) Old scar\n- Spur",
            ["Lungs clear", "No effusion", "Old scar", "Spur"],
        ),
        ("1、双肺清晰；2、直径约1.5cm。未见骨折！", ["双肺清晰", "直径约1.5cm", "未见骨折"]),
        ("1.双肺清晰.2.心影正常.", ["双肺清晰", "心影正常"]),
        ("Fracture of No. 3 rib.", ["Fracture of No. 3 rib"]),
        ("", []),
        ("... 12. \n;", []),
    ],
)
def test_sentences_are_cut_at_their_ends_and_not_at_decimals_or_abbreviations(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


@pytest.mark.parametrize(
    ("sentence", "negated", "stated"),
    [
        (
            "No pleural effusion, pneumothorax, or consolidation",
            {"pleural", "effus", "pneumothorax", "consolid"},
            set(),
        ),
        ("No fracture, mild swelling", {"fractur"}, {"swell"}),
        ("No fracture but mild swelling", {"fractur"}, {"swell"}),
        ("Fracture is not seen, swelling", {"fractur"}, {"swell"}),
        ("The ureter does not dilate", {"dilat"}, {"uret"}),
        ("The cord doesn't enhance", {"enhanc"}, {"cord"}),
        ("Malignancy was ruled out", {"malign"}, set()),
        ("不是肺炎", {"肺炎"}, set()),
        ("不考虑骨折，有肿胀", {"骨折"}, {"肿胀"}),
        ("不要口服阿司匹林", {"口服", "阿司匹林"}, set()),
        ("不是肺炎而是肺癌", {"肺炎"}, {"肺癌"}),
        ("不用力时疼痛", {"用力"}, {"疼痛"}),
        ("肺炎不考虑，肺癌待排", {"肺炎"}, {"肺癌"}),
        ("A fracture cannot be excluded", set(), {"fractur", "uncertain"}),
        ("未见骨折，软组织肿胀", {"骨折"}, {"软组织", "肿胀"}),
        ("无发热、咳嗽，伴头晕", {"发热", "咳嗽"}, {"头晕"}),
        ("边界不清，形态规则", {"清"}, {"边界", "形态", "规则"}),
        ("骨折不能排除", set(), {"骨折", "uncertain"}),
        ("Not only fever but also chills", set(), {"fever", "chill"}),
        ("没想到突然胸痛，没过多久就发热", set(), {"没想到", "突然", "胸痛", "没过多久", "就", "发热"}),
        ("没少喝酒", set(), {"喝酒"}),
        ("没几天就咳嗽，没过敏", {"过敏"}, {"没", "几天", "就", "咳嗽"}),
        ("没转到右下腹，用没药", {"转", "到", "下腹"}, {"用", "没药"}),
    ],
)
def test_a_negation_reaches_over_its_clause_and_no_further(sentence: str, negated: set[str], stated: set[str]) -> None:
    words = read(sentence)
    assert {word for word, (is_negated, _) in words.items() if is_negated} == negated
    assert stated <= {word for word, (is_negated, _) in words.items() if not is_negated}


@pytest.mark.parametrize(("one", "other"), [("No abnormality", "Unremarkable"), ("未见异常", "正常")])
def test_not_abnormal_reads_as_normal(one: str, other: str) -> None:
    assert mentions(one) == mentions(other)


def test_a_side_holds_for_its_clause_and_for_the_next_that_names_none() -> None:
    assert read("右侧胸腔积液，量少，左肺清晰") == {
        "胸腔": (False, "r"),
        "积液": (False, "r"),
        "量": (False, "r"),
        "少": (False, "r"),
        "肺": (False, "l"),
        "清晰": (False, "l"),
    }
    two = read("No effusion of the left knee and a fracture of the right hip")
    assert (two["knee"][1], two["fractur"][1], two["hip"][1]) == ("l", "r", "r")
    kidneys = read("左肾重复肾、右肾上腺肿物")
    assert (kidneys["重复"][1], kidneys["肿物"][1]) == ("l", "r")
    assert read("It hurts more on the left than right")["hurt"] == (False, "lr")
    assert read("bilateral nodules, both small")["nodul"] == (False, "lr")
    assert read("双肺纹理增多")["纹理"] == (False, "lr")
    assert read("双相障碍")["障碍"] == (False, "")


def test_lengths_are_read_in_millimetres_and_levels_stay_whole() -> None:
    assert {"30mm", "45mm", "l4", "l5"} <= read("3 x 4.5 cm mass at L4-L5").keys()
    assert "15mm" in read("直径约1.5厘米") and "15mm" in read("a 15-mm cyst")
    assert "50%" in read("50 % stenosis")


def test_the_letter_of_a_type_is_no_article() -> None:
    assert "a" in read("Hepatitis A virus") and "a" not in read("A nodule and a cyst")


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for sentence in [text, *statements(text)]:
        mentions(sentence)
