"""Lettered options are read however a file writes them, and the right one is the one that the file means."""

import pytest

from cases.importers import choices
from cases.importers.choices import closing_question, letter_of, lettered

TWO = {"A": "Gout", "B": "Pseudogout"}


@pytest.mark.parametrize(
    "given",
    [
        {"a": "Gout", "b": "Pseudogout"},
        {"(A)": "Gout", "(B)": "Pseudogout"},
        {"Ａ": "Gout", "Ｂ.": "Pseudogout", "C": ""},
        [{"key": "A", "value": "Gout"}, {"key": "B", "value": "Pseudogout"}],
        ["Gout", "Pseudogout"],
        ["A. Gout", "B. Pseudogout"],
        "(A) Gout (B) Pseudogout",
        "A. Gout\nB. Pseudogout",
        "a) Gout b) Pseudogout",
    ],
)
def test_options_have_upper_case_letters_whatever_marks_them(given: object) -> None:
    assert lettered(given) == TWO


@pytest.mark.parametrize(
    "given", ["none", "(A) Gout", "(A) Gout (C) Pseudogout", {}, None, {"a": "x", "A": "y"}, [1, 2]]
)
def test_what_has_no_two_letters_is_no_options(given: object) -> None:
    assert lettered(given) is None


def test_a_letter_within_an_option_is_no_mark() -> None:
    assert lettered("(A) Vitamin C. (B) Iron") == {"A": "Vitamin C", "B": "Iron"}


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("(A) High lipoprotein(a) (B) Low HDL", ["High lipoprotein(a)", "Low HDL"]),
        ("(a) High lipoprotein(a) (b) Low HDL", ["High lipoprotein(a)", "Low HDL"]),
        ("Choices: (A) x (B) y", ["x", "y"]),
        ("A. Hepatitis B.\nB. Hepatitis C.\nC. Hepatitis D.", ["Hepatitis B", "Hepatitis C", "Hepatitis D"]),
        ("A. Staphylococci\nB. Streptococci\nC. E. coli", ["Staphylococci", "Streptococci", "E. coli"]),
        (["A. Hepatitis A.", "B. Hepatitis B.", "C. Angina."], ["Hepatitis A", "Hepatitis B", "Angina"]),
        (["(A) Lipoprotein(a)", "(B) Low HDL"], ["Lipoprotein(a)", "Low HDL"]),
    ],
)
def test_marks_are_read_in_their_order_and_letters_of_the_words_stay(given: object, texts: list[str]) -> None:
    assert list((lettered(given) or {}).items()) == list(zip("ABC", texts, strict=False))


def test_options_with_a_letter_left_out_are_none() -> None:
    assert lettered("(A) Gout (B) Pseudogout (D) Sprain") is None


@pytest.mark.parametrize(
    ("answer", "stated", "right"),
    [("gout.", "", "A"), ("Ｐseudogout ", "", "B"), ("b", "", "B"), ("Sprain", "B", ""), ("", "", "")],
)
def test_the_right_letter_is_that_of_the_words_or_the_letter_itself(answer: str, stated: str, right: str) -> None:
    assert letter_of(answer, TWO, stated) == right


def test_options_that_differ_in_case_are_told_apart_and_equal_ones_by_the_stated_letter() -> None:
    assert letter_of("pH", {"A": "PH", "B": "pH"}) == "B"
    assert letter_of("PH.", {"A": "pH", "B": "Ph"}) == ""
    assert letter_of("x", {"A": "x", "B": "x"}, "B") == "B"


@pytest.mark.parametrize(
    ("record", "told", "asked"),
    [
        ("Cough for 3.5 days. What is it?", "Cough for 3.5 days.", "What is it?"),
        ("He has a cough. AST: 12 U/L Which of these is it?", "He has a cough. AST: 12 U/L", "Which of these is it?"),
        ('He says "I cough" Which of these is it?', 'He says "I cough"', "Which of these is it?"),
        ("A man coughs, what is the diagnosis?", "A man coughs", "what is the diagnosis?"),
        ("患者男，30岁，咳嗽三天，最可能的诊断是？", "患者男，30岁，咳嗽三天", "最可能的诊断是？"),
        ("咳嗽三天。如果过敏，首选哪种药物？", "咳嗽三天。", "如果过敏，首选哪种药物？"),
        ("A man coughs. The most likely diagnosis is:", "A man coughs.", "The most likely diagnosis is:"),
        ("When does a cough need a film?", "", "When does a cough need a film?"),
        ("He coughs, and nobody knows what it is.", "He coughs, and nobody knows what it is.", ""),
    ],
)
def test_a_question_is_split_from_a_record_that_runs_into_it(record: str, told: str, asked: str) -> None:
    assert closing_question(record) == (told, asked)


def test_of_many_marks_only_the_first_may_begin_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    run = choices._run
    monkeypatch.setattr(choices, "_run", lambda marks: begun.append(len(marks)) or run(marks))
    assert lettered("a. x " * 2_000) is None
    assert 0 < len(begun) <= 600 and max(begun) <= 300
