import pytest

from cases.text.words import has_chinese, language_of, stem, words


def test_words_are_cut_by_their_own_script() -> None:
    assert words("The patient’s X-ray: 胸部CT正常, L4-L5") == [
        "the",
        "patient's",
        "x-ray",
        "胸部",
        "ct",
        "正常",
        "l4-l5",
    ]


def test_only_english_words_have_endings() -> None:
    assert [stem(word) for word in ("Effusions", "积液", "l4")] == ["effus", "积液", "l4"]


@pytest.mark.parametrize(("text", "language"), [("CT of the 肺", "en"), ("CT示肺部阴影", "zh"), ("", "en")])
def test_a_text_is_chinese_if_more_than_a_quarter_of_its_letters_are(text: str, language: str) -> None:
    assert language_of(text) == language
    assert has_chinese(text) == ("肺" in text)
