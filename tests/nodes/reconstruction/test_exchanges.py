import pytest
from pydantic import ValidationError

from nodes.reconstruction.exchanges import Exchange, FreeExchange, SectionDialogue

ASKED = "Since when have you had the pain under your ribs?"


@pytest.mark.parametrize(
    ("patient", "wrong"),
    [
        ("},\n {", "it contains no words"),
        ("患者", "it contains no words"),
        (ASKED.upper(), "only repeats the physician's words"),
    ],
)
def test_what_a_small_model_writes_for_a_patient_who_says_nothing_is_no_exchange(patient: str, wrong: str) -> None:
    written = {"exchanges": [{"physician": ASKED, "patient": patient}]}
    with pytest.raises(ValidationError, match=wrong):
        SectionDialogue.model_validate(written, context={"closed": True})


def test_a_few_words_may_be_said_back() -> None:
    written = {"exchanges": [{"physician": "Goodbye.", "patient": "Goodbye."}]}
    assert SectionDialogue.model_validate(written, context={"closed": True})


def test_an_exchange_in_which_nobody_says_anything_is_none() -> None:
    said, nothing = {"physician": ASKED, "patient": "For two days."}, {"physician": "", "patient": " "}
    assert len(SectionDialogue.model_validate({"exchanges": [nothing, said, nothing]}).exchanges) == 1
    assert SectionDialogue.model_validate({"exchanges": [nothing]}).exchanges == []
    with pytest.raises(ValidationError, match=r"exchanges\.0\.patient"):
        SectionDialogue.model_validate({"exchanges": [{**said, "patient": ""}]})


@pytest.mark.parametrize("exchange", [FreeExchange, Exchange])
def test_a_patient_may_answer_with_a_number_and_no_physician_says_digits_alone(exchange: type[FreeExchange]) -> None:
    """SmolLM2's whole interview was "2023-08-28 14:12:11.12", and passed every gate."""
    assert exchange(physician="How high was the fever?", patient="38.9")
    with pytest.raises(ValidationError, match="it contains no words"):
        exchange(physician="2023-08-28 14:12:11.12", patient="2023-08-28 14:12:11.12")
