from typing import Any

import pytest

from cases import ExaminationRecord
from nodes.patients.filed_results import Filed, asked_for, look_up

RECORD = ExaminationRecord.model_validate(
    {
        "physical": {"Chest Examination": "Crackles on the left. ECG: sinus rhythm."},
        "auxiliary": {
            "X-ray": "Shadow at the left base.",
            "Blood Test": "White cells 14 ×10⁹/L. CRP 60 mg/L. Acetylcholine receptor antibodies positive.",
            "MRI": "Tensilon test was done before; the thymus is enlarged.",
        },
        "images": [{"file": "film.png", "item": "X-ray"}],
    }
)


def found(name: str, **more: Any) -> Filed:
    settings: dict[str, Any] = {"folder": "/cases", "send_pictures": True, **more}
    return look_up(RECORD, name, **settings)


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("CXR", "Please get a CXR.", "Shadow at the left base."),
        ("chest X-ray", "Please get a CXR.", "Shadow at the left base."),
        ("glycated haemoglobin", "I should like your glycated haemoglobin.", "HbA1c 8.1 %."),
        ("糖化血红蛋白", "请查糖基化血红蛋白。", "HbA1c 8.1 %."),
    ],
)
def test_a_test_is_found_by_what_doctors_call_it_for_short_and_by_its_british_name(
    name: str, words: str, told: str
) -> None:
    record = ExaminationRecord(
        auxiliary={"X-ray": "Shadow at the left base.", "Blood Test": "Haemoglobin 98 g/L. HbA1c 8.1 %."}
    )
    texts = [text for each in asked_for(name, words) for text in look_up(record, each, "", False).texts]
    assert texts == [told]


def test_a_closed_item_gives_its_whole_text_and_a_test_its_own_sentences() -> None:
    assert found("blood test").texts == (RECORD.auxiliary["Blood Test"],)
    assert found("CRP").texts == ("CRP 60 mg/L.",)
    assert found("血常规").texts == ("White cells 14 ×10⁹/L.",), "a panel is found by its parts, in either language"
    assert found("ECG").texts == ("ECG: sinus rhythm.",)


def test_a_test_that_is_not_named_in_a_collective_item_was_not_done() -> None:
    assert found("troponin") == Filed()
    assert found("ultrasound") == Filed()


def test_a_test_outside_the_lists_is_found_by_its_name_in_the_text() -> None:
    assert found("Tensilon test").texts == (RECORD.auxiliary["MRI"],)
    assert found("Acetylcholine receptor antibodies").texts == ("Acetylcholine receptor antibodies positive.",)


@pytest.mark.parametrize("name", ["left", "positive", "normal", "the", "done before", "results", "*", "正常"])
def test_words_that_stand_in_a_text_but_name_no_test_find_nothing(name: str) -> None:
    assert found(name) == Filed()


def test_a_picture_is_given_instead_of_its_text_where_pictures_are_sent() -> None:
    shown = found("X-ray")
    assert (shown.texts, [picture.file for picture in shown.pictures]) == ((), ["/cases/film.png"])
    assert found("X-ray", send_pictures=False).texts == ("Shadow at the left base.",)


@pytest.mark.parametrize(
    ("name", "words", "allowed"),
    [
        ("Blood Test", "A blood test, please.", ["blood test"]),
        ("CRP", "A blood test, please.", ["crp"]),
        ("Blood Test", "Please check the CRP.", ["crp"]),
        ("troponin", "Please check the CRP.", []),
        ("C-reactive protein", "Please check the CRP.", ["c-reactive protein"]),
        ("血常规", "A CBC, please.", ["血常规"]),
        ("CT", "Give me all results.", []),
        ("all results", "Give me all results.", []),
        ("Tensilon test", "Do a Tensilon test.", ["Tensilon test"]),
        ("Tensilon test", "Do all the tests.", []),
        ("Shadow at the left base.", "Look at the left, and at all else.", []),
    ],
)
def test_no_more_is_asked_for_than_the_words_say(name: str, words: str, allowed: list[str]) -> None:
    assert asked_for(name, words) == allowed
