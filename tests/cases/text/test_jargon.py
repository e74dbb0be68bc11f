"""Jargon is found and put into everyday words, which are none themselves."""

import time

import pytest

from cases.text.jargon import in_lay_words, jargon_in
from cases.vocabulary import word_list

LISTED = word_list("jargon")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_term_is_found_and_its_everyday_words_hold_no_term_of_the_list(language: str) -> None:
    assert len(LISTED[language]) > 40
    for term, lay in LISTED[language].items():
        assert jargon_in(term, language), term  # type: ignore[arg-type]
        assert not jargon_in(lay, language), (term, lay)  # type: ignore[arg-type]


def test_terms_are_replaced_as_whole_words_and_an_explanation_in_brackets_is_dropped() -> None:
    assert in_lay_words("Double vision (diplopia) and Dyspnea, not MIchael.", "en") == (
        "Double vision and shortness of breath, not MIchael."
    )
    assert in_lay_words("An antipyretic, an analgesic and a tachycardia.", "en") == (
        "A fever medicine, a painkiller and a fast heartbeat."
    )
    assert in_lay_words("Analgesics helped.", "en") == "Painkillers helped."
    assert in_lay_words("没有心悸和呼吸困难。", "zh") == "没有心慌和喘不上气。"
    assert in_lay_words("LMP 3月5日，蒙脱石散3g tid。", "zh") == "上次来月经 3月5日，蒙脱石散3g 每天三次。"


def test_a_long_record_is_read_once_and_a_line_of_its_own_keeps_its_capital() -> None:
    began = time.process_time()
    in_lay_words("The patient has hypertension. " * 6000, "en")
    assert time.process_time() - began < 2
    assert in_lay_words("Fever\nHypertension, Dyspnea", "en") == "Fever\nHigh blood pressure, shortness of breath"
