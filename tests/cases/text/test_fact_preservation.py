import pytest

from cases.text.fact_preservation import changes, fact_in_words, terms_in
from cases.text.words import has_chinese
from cases.vocabulary import Language, word_list

PLAIN = {
    "en": "She has had a fever of 39.5 °C for 3 days and pain in the left chest, but no cough and no chills.",
    "zh": "发热3天，体温39.5℃，左侧胸痛，无咳嗽，无寒战，口服布洛芬0.2 g每日两次。",
}


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (
            PLAIN["en"],
            "I've had a temperature, 39.5 degrees, for three days; my chest hurts on the left; no cough or chills.",
        ),
        ("He has no nausea.", "I don't feel sick at all."),
        ("He takes metformin 850 mg twice daily.", "I take metformin, 850 mg, two times a day."),
        ("She has had high blood pressure for twelve years.", "I've had hypertension for 12 years."),
        ("The stool is normal.", "Well, the stool is normal, that is how it is."),
        ("Could you be more specific?", "Sorry, what do you mean exactly?"),
    ],
)
def test_other_words_for_the_same_keep_the_facts_in_english(plain: str, said: str) -> None:
    assert not changes(plain, said, "en"), str(changes(plain, said, "en"))


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (PLAIN["zh"], "大夫，俺发烧三天了，烧到39.5度，左边胸口疼，没咳嗽，没寒战，吃的布洛芬0.2克，每天两回。"),
        ("有高血压病史8年，服用氨氯地平5 mg每日一次。", "我血压高八年了，吃氨氯地平5毫克，每天一次。"),
        ("没有，这个我不清楚。", "这个啊，没有，我也不清楚。"),
    ],
)
def test_other_words_for_the_same_keep_the_facts_in_chinese(plain: str, said: str) -> None:
    assert not changes(plain, said, "zh"), str(changes(plain, said, "zh"))


@pytest.mark.parametrize(
    ("language", "old", "new", "lost", "added"),
    [
        ("en", "39.5", "38.5", "39.5 degrees", "38.5 degrees"),
        ("en", "3 days", "3 weeks", "3 days", "3 weeks"),
        ("en", " for 3 days", "", "3 days", ""),
        ("en", "left", "right", "left", "right"),
        ("en", "no cough", "a cough", "no cough", "cough"),
        ("en", " and no chills", "", "no chills", ""),
        ("en", "pain", "pain and vomiting", "", "vomiting"),
        ("en", "pain", "some trouble", "pain", ""),
        ("zh", "39.5", "38.5", "39.5 degrees", "38.5 degrees"),
        ("zh", "3天", "3周", "3 days", "3 weeks"),
        ("zh", "左", "右", "left", "right"),
        ("zh", "无咳嗽", "有咳嗽", "no cough", "cough"),
        ("zh", "，无寒战", "", "no chills", ""),
        ("zh", "胸痛", "胸痛、腹痛", "", "abdomen"),
        ("zh", "0.2 g", "0.4 g", "0.2 g", "0.4 g"),
        ("zh", "布洛芬", "药", "布洛芬", "medicine"),
    ],
)
def test_a_lost_or_an_added_fact_is_named(language: Language, old: str, new: str, lost: str, added: str) -> None:
    plain = PLAIN[language]
    found = changes(plain, plain.replace(old, new), language)
    assert not lost or lost in found.lost
    assert not added or added in found.added
    assert found and str(found)


def test_facts_of_a_chinese_text_are_shown_in_chinese() -> None:
    found = changes("发热3天，39.5℃，无咳嗽，吃0.2 g。", "发热两周，每日两次，呕吐。", "zh")
    assert found.shown("zh") == "lost: 0.2 g、3天、39.5度、一处否认、无咳; added: 2次、2周、呕"
    assert found.shown("de") == found.shown("en") == str(found)
    names = list(word_list("medical_terms")["terms"])
    assert all(has_chinese(fact_in_words(name, "zh")) for name in names)
    assert [fact_in_words(name, "en") for name in names] == names


def test_turning_an_unlisted_word_round_is_a_change() -> None:
    assert "no travel" in changes("I have not travelled.", "I have travelled.", "en").lost
    assert changes("I have travelled.", "I have not travelled.", "en").added


@pytest.mark.parametrize(
    ("one", "other"),
    [("twenty", "20"), ("二十五天", "25天"), ("一百二十", "120"), ("half", "0.5"), ("twice", "2 times")],
)
def test_a_number_in_words_is_the_number(one: str, other: str) -> None:
    language: Language = "en" if one.isascii() else "zh"
    assert not changes(f"x {one} x", f"x {other} x", language)


def test_the_same_words_are_no_change() -> None:
    for language, plain in PLAIN.items():
        assert not changes(plain, plain, language)  # type: ignore[arg-type]
        assert str(changes(plain, plain, language)) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "hurts"),
    [
        ("She is a teacher.", False),
        ("A plaster was attached to it.", False),
        ("He has headaches and a stomach-ache.", True),
        ("It ached, and I felt achy.", True),
    ],
)
def test_an_ache_is_no_part_of_another_word(text: str, hurts: bool) -> None:
    assert (("pain", False) in terms_in(text, "en")) == hurts
