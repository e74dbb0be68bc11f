import pytest

from cases.vocabulary import EXAMINATION_ITEMS


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
