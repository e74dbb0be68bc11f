"""Particulars that a dialogue may not change: each change is named by its gate, and the sound dialogue passes."""

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.text.numbers import Span, spans_of_time
from nodes.reconstruction.gates import check_dialogue

NOTE = """Patient: 45-year-old woman.
Chief complaint: Cough for 2 days.
History: She takes lisinopril 40 mg. She denies fever or night sweats.
Allergies: no known drug allergies.
Family history: her mother had gout."""
SOUND = [
    "Hello, doctor.",
    "Hello, what brings you here?",
    "I have had a cough for two days.",
    "How old are you?",
    "I am 45 years old.",
    "Have you had a fever, or sweated at night?",
    "No, neither a fever nor night sweats.",
    "Which medicines do you take?",
    "I take lisinopril, forty milligrams.",
    "Are you allergic to anything?",
    "No, I have no allergies.",
    "Which illnesses run in the family?",
    "My mother had gout.",
    "Thank you. I shall listen to your lungs now.",
    "All right.",
    "You're welcome. Goodbye.",
]


def dialogue(note: str = NOTE, **changed: str) -> Dialogue:
    said = [changed.get(f"turn_{number}", text) for number, text in enumerate(SOUND, 1)]
    roles = [PATIENT if number % 2 == 0 else PHYSICIAN for number in range(len(said))]
    return Dialogue(id="a", note=note, messages=[Message(role=r, content=t) for r, t in zip(roles, said, strict=True)])


def test_a_sound_dialogue_passes_every_gate() -> None:
    assert check_dialogue(dialogue()) == []


@pytest.mark.parametrize(
    ("turn", "text", "gate"),
    [
        (3, "I have had a cough for two years.", "times_of_the_note"),
        (9, "I take warfarin, forty milligrams.", "medicines_of_the_note"),
        (9, "I take lisinopril, 400 mg.", "numbers_of_the_note"),
        (5, "I cough at night, mostly.", "answers_fit"),
        (4, "Well, ma'am, sir, how old are you?", "address_of_the_note"),
        (15, "My prostate was looked at last year.", "address_of_the_note"),
        (14, "We will start chemotherapy tomorrow.", "treatment_of_the_note"),
        (3, "I have had a cough for two minutes.", "times_of_the_note"),
        (15, "As an AI language model, I have no symptoms.", "no_placeholders"),
        (15, "*sighs* All right.", "no_placeholders"),
        (15, "Patient: All right.", "no_placeholders"),
        (15, "According to the note, I agree.", "no_placeholders"),
        (13, "My father had gout.", "kinds_of_the_note"),
        (15, "PMH: All right.", "no_placeholders"),
        (15, "Oui, ça a commencé il y a trois jours.", "in_the_language"),
        (16, "You're", "not_cut_off"),
        (7, "No, neither a fever nor night", "not_cut_off"),
        (9, "Yes.", "answers_fit"),
        (15, "All <b>right</b>.", "no_placeholders"),
        (15, "All right. ```json", "no_placeholders"),
        (15, "【好的】 All right.", "no_placeholders"),
        (9, "I take lisinopril, forty milligrams. And Lipitor at bedtime.", "medicines_of_the_note"),
        (13, "My mother had gout. My urine has been dark like tea.", "founded_on_the_note"),
        (13, "My mother had gout. My heart pounds and I get palpitations.", "founded_on_the_note"),
        (14, "Thank you. Your eardrum is perforated, by the way.", "founded_on_the_note"),
        (8, "Which medicines do you take? No, none at all.", "answers_fit"),
        (8, "Do you take any medicines? Lisinopril, forty milligrams.", "answers_fit"),
        (15, "As a man of my age I am careful.", "address_of_the_note"),
        (14, "You look like a healthy man to me.", "address_of_the_note"),
        (16, "Anything else that bothers you?", "not_cut_off"),
        (13, "Yes, my mother had gout. Yes, my mother had gout.", "not_repeated"),
        (15, "Desde hace tres semanas me duele mucho la cabeza y no puedo dormir.", "in_the_language"),
    ],
)
def test_a_changed_particular_is_named_by_its_gate_at_its_turn(turn: int, text: str, gate: str) -> None:
    problems = check_dialogue(dialogue(**{f"turn_{turn}": text}))
    assert (gate, turn) in {(problem.gate, problem.turn) for problem in problems}


def test_an_exchange_with_another_patient_stands_alone() -> None:
    spliced = dialogue(turn_10="How did the accident happen?", turn_11="I slipped on the ice and hurt my wrist.")
    assert "connected_to_the_note" in {problem.gate for problem in check_dialogue(spliced)}
    denied = dialogue(turn_10="How did the accident happen?", turn_11="No accident, nobody slipped on any ice.")
    assert "connected_to_the_note" not in {problem.gate for problem in check_dialogue(denied)}


@pytest.mark.parametrize(
    "said",
    [
        {"turn_4": "How old are you again, forty-five?", "turn_5": "Yes."},
        {"turn_6": "What about fever, or night sweats?", "turn_7": "No."},
        {"turn_9": "I take lisinopril, ≤ 40 mg."},
        {"turn_14": "Thank you. I shall listen to your lungs now -"},
        {"turn_15": "The nurse just brought me back, two days back."},
        {"turn_9": "I take lisinopril, forty milligrams. And some ibuprofen now and then."},
        {"turn_13": "My mother had gout. That did a number on her."},
        {"turn_14": "I see in your chart that a temperature was taken. I shall listen to your lungs now."},
        {"turn_2": "Hello, I see that you have been referred for pneumonia. What brings you here?"},
        {"turn_2": "Hello, how are you today? Before we begin, I shall ask you some questions."},
        {"turn_13": "My mother had gout. Yes, she did.", "turn_15": "Yes, she did."},
        {"turn_12": "It may be an infection, or even epilepsy. Any of that in the family.", "turn_13": "Yes, gout."},
    ],
)
def test_what_people_say_is_refused_by_no_rule(said: dict[str, str]) -> None:
    assert check_dialogue(dialogue(**said)) == []


def test_an_answer_in_the_physicians_mouth_before_the_patients_question_is_found() -> None:
    swapped = dialogue(turn_4="I am 45 years old.", turn_5="How old are you?")
    assert "answers_fit" in {problem.gate for problem in check_dialogue(swapped)}


def test_spans_of_time_agree_over_their_units() -> None:
    (days,), (weeks,) = spans_of_time("for 14 days"), spans_of_time("two weeks ago")
    assert days.lasts_as(weeks) and not days.lasts_as(Span("14", "week"))
    assert spans_of_time("for a few days, 咳嗽3天") == {Span("few", "day"), Span("3", "天")}
    assert not Span("few", "day").lasts_as(Span("few", "year"))
