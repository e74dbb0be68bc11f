import pytest

from cases import Case, load_cases
from cases.case import AnswerKey
from nodes.state.chart import Turn
from scoring.clini_eval.dialogue import dialogue_of_consultation
from tests.graphs.scripting import builtin


def test_the_dialogue_is_what_the_doctor_said_and_heard_with_the_answer_key_beside_it() -> None:
    case = builtin("surgery-01")
    turns = [
        Turn(speaker="doctor", text="What is it?", action="opening"),
        Turn(speaker="patient", text="I say: pain.", plain="Pain."),
        Turn(speaker="doctor", text="An ultrasound, please."),
        Turn(speaker="patient", addressee="examiner", text="He wants an ultrasound."),
        Turn(speaker="examiner", text="Stones."),
        Turn(speaker="patient", addressee="doctor", text="They say stones."),
    ]
    dialogue = dialogue_of_consultation(case, {"dialogue": turns})
    assert [(message.role, message.content) for message in dialogue.messages] == [
        ("assistant", "What is it?"),
        ("user", "I say: pain."),
        ("assistant", "An ultrasound, please."),
        ("user", "Stones.\nThey say stones."),
    ]
    assert dialogue.diseases == case.key.diagnosis and dialogue.department == case.key.department


@pytest.mark.parametrize("case", load_cases()[::20], ids=lambda case: case.id)
def test_the_note_holds_both_records_and_nothing_of_the_answer_key(case: Case) -> None:
    note = dialogue_of_consultation(case, {"dialogue": []}).note
    for text in (case.patient.chief_complaint, case.patient.present_illness, *case.examinations.results.values()):
        assert text in note
    other = case.model_copy(update={"key": AnswerKey(diagnosis=["Scurvy"], treatment_course="Oranges.")})
    assert dialogue_of_consultation(other, {"dialogue": []}).note == note


def test_the_records_of_the_run_go_before_the_cases() -> None:
    case = builtin("surgery-01")
    changed = case.patient.model_copy(update={"occupation": "astronaut"})
    note = dialogue_of_consultation(case, {"dialogue": [], "patient_record": changed}).note
    assert "astronaut" in note
