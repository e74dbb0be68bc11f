"""The words of a text's clauses, and which words of a window agree with one."""

import pytest

from cases.text.statements import Mention
from scoring.metrics.content import Window, agreeing_in, clauses_of


def words_of(text: str) -> Window:
    return Window(each for clause in clauses_of(text) for each in clause.mentions)


@pytest.mark.parametrize(
    ("report", "agrees"),
    [
        ("A stone", True),
        ("A stone in the right kidney", True),
        ("A stone. The right kidney is swollen", True),
        ("A stone. The left kidney is swollen", False),
        ("A stone in the left kidney, the right kidney is normal", False),
        ("A cyst in the right kidney", False),
    ],
)
def test_a_word_with_a_side_agrees_with_one_of_that_side_or_of_none_where_no_other_side_is_named(
    report: str, agrees: bool
) -> None:
    (stone,) = (each for each in words_of("Right renal stone") if each.word == "stone")
    assert bool(agreeing_in(stone, words_of(report))) is agrees


@pytest.mark.parametrize(
    ("word", "other", "agrees"),
    [
        ("小结节", "结节", True),
        ("结节", "小结节", True),
        ("结节", "结石", False),
        ("痛", "头痛", False),
        ("fractured", "fractures", True),
        ("12.505mm", "12.501mm", False),
    ],
)
def test_forms_of_a_word_agree_and_so_do_a_chinese_word_and_its_part(word: str, other: str, agrees: bool) -> None:
    assert agreeing_in(Mention(word), Window([Mention(other)])) == [Mention(other)] * agrees


@pytest.mark.parametrize("text", ["The left kidney is enlarged with a stone", "左肾增大伴结石"])
def test_a_side_holds_for_what_a_thing_is_with(text: str) -> None:
    assert {each.word: {*each.sides} for each in words_of(text)}["stone"] == {"left"}


def test_a_label_with_commas_is_no_clause() -> None:
    text = "Head, Eyes, Ears, Nose and Throat Examination: Red tonsils, no exudate"
    assert [(clause.text, bool(clause.mentions)) for clause in clauses_of(text)] == [(text, True)] * 2
