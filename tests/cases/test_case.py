"""How the texts of a case are read."""

import unicodedata
from typing import Any

import pytest

from cases import Case
from cases.case import as_usually_typed
from cases.notes import Note
from retrieval.features import remember

USUAL = "Ménière 38.5 °C\nrash, 10 mg 心电图"


def case_with(text: str, **others: Any) -> Case:
    patient = {"chief_complaint": text, "past_history": text}
    return Case.model_validate({"id": "a", "patient": patient, "provenance": {"source": "made up"}, **others})


@pytest.mark.parametrize(
    "typed",
    [
        unicodedata.normalize("NFD", USUAL),
        USUAL.replace("\n", "\r\n"),
        USUAL.replace("\n", "\r"),
        USUAL.replace("38.5", "３８.５"),
        USUAL.replace("38.5", "３８．５"),
        USUAL.replace(" ", "\u00a0"),
        USUAL.replace("0 mg", "0\u202fmg"),
        USUAL.replace("rash,", "ra\u00adsh,\u200b"),
        USUAL.replace("é", "e\u200b\u0301"),
        f"\ufeff{USUAL}",
    ],
    ids=[
        "letters and accents apart",
        "CRLF",
        "CR",
        "wide digits",
        "wide number",
        "NBSP",
        "narrow NBSP",
        "invisible",
        "invisible in a letter",
        "mark",
    ],
)
def test_the_same_words_in_other_signs_are_the_same_case_and_the_same_note(typed: str) -> None:
    key = {"diagnosis": [typed], "imaging_reports": {"CT": typed}}
    read = case_with(typed, key=key, examinations={"auxiliary": {"CT": typed}})
    assert read.key.diagnosis == [USUAL] and read.examinations.auxiliary == {"CT": USUAL}
    assert read == case_with(
        USUAL, key={"diagnosis": [USUAL], "imaging_reports": {"CT": USUAL}}, examinations={"auxiliary": {"CT": USUAL}}
    )
    assert Note(id="n", text=typed).text == USUAL
    assert remember(read).chief_complaint == USUAL


@pytest.mark.parametrize(
    "marked",
    ["1．2型糖尿病", "2．3月5日入院", "2．120/80mmHg", "3．38.5℃", "1．痛风", "痛风\n2．24小时尿蛋白", "2．10%葡萄糖"],
)
def test_a_wide_point_behind_the_number_of_an_entry_stays(marked: str) -> None:
    assert as_usually_typed(marked) == marked


def test_names_keep_their_signs_as_they_are_compared_with_others() -> None:
    name = unicodedata.normalize("NFD", "é１")
    image = {"file": f"{name}.png", "item": "CT"}
    key = {"options": {"Ａ": "gout"}, "option": "Ａ"}
    read = case_with(USUAL, id=name, parent_id=name, examinations={"images": [image]}, key=key)
    assert (read.id, read.parent_id, read.examinations.images[0].file) == (name, name, f"{name}.png")
    assert read.key.options[read.key.option] == "gout"
    assert remember(read).id == name


def test_signs_that_have_a_meaning_are_kept() -> None:
    text = "“约３%”，　（a）：می‌خواهم 👩‍⚕️ µg"
    assert case_with(text).patient.chief_complaint == text.replace("３", "3")


def test_a_text_of_invisible_signs_alone_is_no_complaint() -> None:
    with pytest.raises(ValueError, match="at least 1 character"):
        case_with("\u200b\ufeff")
