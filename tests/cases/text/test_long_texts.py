"""A long text, however it repeats itself, is read in time that grows with its length."""

import time
from collections.abc import Callable

import pytest

from cases.text.demographics import age_phrases, demographics
from cases.text.jargon import in_lay_words
from cases.text.sentences import pieces
from cases.text.statements import statements

LENGTH = 40_000  # characters, for which the slowest of these took half a minute


@pytest.mark.parametrize("unit", ["a", ". ", "A. ", "; ", "\n", " ", "no ", "((", "1 ", "，", "。", "咳嗽、"])
@pytest.mark.parametrize(
    "read",
    [pieces, statements, age_phrases, demographics, lambda text: in_lay_words(text, "en")],
    ids=["pieces", "statements", "age_phrases", "demographics", "in_lay_words"],
)
def test_a_long_text_that_repeats_itself_is_read_at_once(read: Callable[[str], object], unit: str) -> None:
    read(unit)  # patterns are compiled on first use
    began = time.process_time()
    read((unit * LENGTH)[:LENGTH])
    assert time.process_time() - began < 2
