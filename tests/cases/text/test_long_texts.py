"""A long text, however it repeats itself, is read in time that grows with its length."""

import time
from collections.abc import Callable

import pytest

from cases.text.demographics import age_phrases, demographics
from cases.text.jargon import in_lay_words
from cases.text.lexicon import told_by
from cases.text.note_sections import read_sections
from cases.text.numbers import known_numbers, spans_of_time
from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import entries, pieces
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
    ],
    ids=lambda read: getattr(read, "__name__", ""),
)
def test_a_long_text_that_repeats_itself_is_read_at_once(read: Callable[[str], object], unit: str) -> None:
    read(unit)  # patterns are compiled on first use
    began = time.process_time()
    read((unit * LENGTH)[:LENGTH])
    assert time.process_time() - began < 2
