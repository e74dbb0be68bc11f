"""A long text, however it repeats itself, is read in time that grows with its length."""

import time
from collections.abc import Callable

import pytest

from cases.impersonal import impersonal_text
from cases.text.demographics import age_phrases, demographics
from cases.text.jargon import in_lay_words
from cases.text.lexicon import told_by
from cases.text.note_sections import read_sections
from cases.text.numbers import known_numbers, spans_of_time
from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import LONGEST_SENTENCE, entries, pieces
from cases.text.statements import statements

LENGTH = 40_000  # characters, for which the slowest of these took half a minute


@pytest.mark.parametrize(
    "unit", ["a", ". ", "A. ", "; ", "\n", " ", "no ", "((", "1 ", "1. ", "9", "\t", "，", "。", "咳嗽、"]
)
@pytest.mark.parametrize(
    "read",
    [
        *(pieces, entries, statements, age_phrases, demographics, spans_of_time, known_numbers, told_by, ordered_tests),
        lambda text: in_lay_words(text, "en"),
        lambda text: read_sections(text, "en"),
        lambda text: impersonal_text(f"x{text}x", "en", None, None, ""),
    ],
    ids=lambda read: getattr(read, "__name__", ""),
)
def test_a_long_text_that_repeats_itself_is_read_at_once(read: Callable[[str], object], unit: str) -> None:
    read(unit)  # patterns are compiled on first use
    began = time.process_time()
    read((unit * LENGTH)[:LENGTH])
    assert time.process_time() - began < 2


def test_a_sentence_of_any_length_is_cut_where_nothing_is_lost() -> None:
    text = "A pain, " * 1_000 + "x" * 5_000 + ". No fever."
    assert "".join(pieces(text)) == text and max(map(len, pieces(text))) <= LONGEST_SENTENCE
    assert pieces(text)[0].endswith("pain, ") and pieces(text)[-1] == "No fever."
