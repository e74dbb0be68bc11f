import pytest

from cases import PatientRecord
from cases.vocabulary import Language
from nodes.patients.medchain import PatientView, quote_the_record

RECORDS: dict[Language, PatientRecord] = {
    "en": PatientRecord(
        chief_complaint="Pain in the belly since yesterday.",
        present_illness=(
            "It began at noon. The pain is dull. It moved to the right. It rose to 38.5 degrees at night. I was sick."
        ),
        past_history="Hernia operation in 2019. No allergy.",
        personal_history="Smokes ten a day.",
    ),
}


@pytest.mark.parametrize(("asked", "told"), [("Have you had a blood test?", "CRP 88."), ("Does it hurt?", "")])
def test_a_patient_who_was_told_results_tells_the_one_that_is_asked_for_and_no_other(asked: str, told: str) -> None:
    results = {"Blood Test": "CRP 88.", "Ultrasound": "Free fluid."}
    reply = quote_the_record(PatientView(RECORDS["en"], [], asked, "en", results)).text
    assert (reply == told) if told else not any(result in reply for result in results.values())
