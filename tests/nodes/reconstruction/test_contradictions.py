"""What contradicts a clause of the note is named with that clause, and what people ask and answer otherwise passes."""

from typing import Any

import pytest

from cases.dialogues import Dialogue, Message
from nodes.reconstruction.content import Told
from nodes.reconstruction.contradictions import RULES

NOTE = (
    "Right-handed man with pain in the right hip and tenderness of both knees. He has had migraine and takes "
    "ibuprofen. He denies chest pain or cough, and is a nonsmoker. His mother had gout."
)


def refused(*spoken: str, **more: Any) -> list[str]:
    roles: Any = ("assistant", "user")
    messages = [Message(role=roles[place % 2], content=text) for place, text in enumerate(spoken)]
    told = Told(Dialogue(**{"id": "d", "messages": messages, "note": NOTE, **more}))
    return [f"{name}: {message}" for name, rule in RULES.items() for message, _ in rule(told)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Have you ever had migraine?", "No, never."),
        ("And what about ibuprofen?", "No, none of that."),
        ("Do you have any nausea, fever or migraine?", "No."),
        ("You take ibuprofen for migraine, correct?", "No, I don't."),
        ("Do you have any chest pain?", "Yes, quite a lot of it lately."),
        ("Any cough or chest pain?", "Yes, off and on."),
        ("Do you smoke?", "Yes, on weekends."),
        ("Did your mother have gout?", "No, she didn't."),
    ],
)
def test_a_yes_or_no_against_the_note_is_named_with_the_clause(asked: str, answer: str) -> None:
    (found,) = refused(asked, answer)
    assert found.startswith("answers_of_the_note") and "the note has" in found


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Have you ever had migraine?", "Yes, for years."),
        ("Do you have any migraine today?", "No."),
        ("Any other migraine in the family?", "No."),
        ("Have you ever had gout?", "No, never."),
        ("Do you have any chest pain?", "No, none."),
        ("Any cough or migraine?", "Yes, the migraine."),
        ("Do you take ibuprofen?", "No, just when it is really bad."),
        ("How bad is the migraine?", "No idea."),
        ("You don't have any cough?", "Yes, that's right."),
    ],
)
def test_what_the_note_bears_out_or_does_not_say_passes(asked: str, answer: str) -> None:
    assert refused(asked, answer) == []


@pytest.mark.parametrize(
    ("note", "asked", "answer"),
    [
        ("She denies any smoking and reports very occasional alcohol use.", "And any alcohol?", "Yes, now and then."),
        ("She takes Tylenol No. 3 with some relief.", "Do you take Tylenol?", "Yes, I do."),
    ],
)
def test_a_denial_ends_before_what_is_reported_and_a_number_is_none(note: str, asked: str, answer: str) -> None:
    assert refused(asked, answer, note=note) == []


@pytest.mark.parametrize(
    ("note", "asked", "answer"),
    [
        ("Fever: no. 3 days of cough.", "Do you have a fever?", "Yes, I do."),
        ("There are no prior films and reports of fractures.", "Have you ever had a fracture?", "Yes, I have."),
    ],
)
def test_a_denial_before_a_number_or_a_noun_stays_one(note: str, asked: str, answer: str) -> None:
    assert len(refused(asked, answer, note=note)) == 1


def test_who_denies_now_what_he_tells_elsewhere_speaks_of_another_time() -> None:
    told = ("How are you?", "I had a migraine.", "Do you have a migraine?", "No.")
    assert refused(*told) == []
    assert refused(*told[2:]) != []


def test_what_the_note_tells_of_the_patient_is_no_relatives_unless_a_relative_speaks() -> None:
    (found,) = refused("What brings you here?", "My brother takes ibuprofen.")
    assert found.startswith("own_history")
    assert refused("How is he? Does he take anything?", "My brother takes ibuprofen.") == []
    assert refused("Does anything run in your family?", "My mother had gout.") == []
    assert refused("Do you live alone?", "My wife is a teacher.") == []
    assert refused("What brings you here?", "My daughter has been sleeping badly.") != []
    assert refused("What is your daughter's trouble?", "My daughter has been sleeping badly.") == []
    assert refused("What brings you here?", "My husband is looking for parking, he brought us here.") == []
    family = "Family history: unremarkable except for alcohol abuse."
    assert refused("Anything else?", "My grandfather had trouble with alcohol abuse.", note=family) == []


@pytest.mark.parametrize(
    ("asked", "answer", "sound"),
    [
        ("Where does it hurt?", "In my left hip.", False),
        ("Where does it hurt?", "In both of my hips.", False),
        ("Where does it hurt?", "In my left knee, and in my right hip.", True),
        ("So it is your left hip?", "Yes, doctor.", False),
        ("So it is your left hip?", "No, the right one.", True),
        ("Which hand do you write with?", "I am left-handed.", False),
        ("Which hand do you write with?", "I am right-handed.", True),
    ],
)
def test_a_part_of_the_body_keeps_its_side_also_in_what_a_yes_confirms(asked: str, answer: str, sound: bool) -> None:
    gates = [one.partition(":")[0] for one in refused(asked, answer)]
    assert gates == ([] if sound else ["sides_of_the_note"])


def test_other_languages_are_left_to_the_other_rules() -> None:
    assert refused("Have you ever had migraine?", "No, never.", language="zh") == []
