import pytest

from cases.vocabulary import EXAMINATION_ITEMS, longest_spelled


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("A CT, then an MRI.", ["MRI", "CT"]),
        ("CTDNA was sent; the ACT did not help.", []),
        ("行CT检查。", ["CT"]),
        ("复查超声3次。", ["Ultrasound"]),
    ],
)
def test_a_term_is_named_by_whole_words_in_english_and_within_any_text_in_chinese(text: str, named: list[str]) -> None:
    assert EXAMINATION_ITEMS.mentioned_in(text) == named


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("acute kidney injury on kidney disease", ["acute kidney injury", "kidney"]),
        ("kidneys, akidney, 2kidney, kidney2", []),
        ("graves眼病, graves病, graves", ["graves眼病", "graves", "graves"]),
        ("患crohn病后肾炎", ["crohn病", "肾炎"]),
    ],
)
def test_of_several_spellings_the_longest_is_found_as_a_word_or_within_chinese(text: str, found: list[str]) -> None:
    names = ["kidney", "acute kidney injury", "graves", "graves眼病", "crohn", "crohn病", "肾", "肾炎"]
    assert longest_spelled(names).findall(text) == found
