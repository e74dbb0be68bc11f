"""The answer is to the question."""

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.vocabulary import Language
from nodes.reconstruction.answers import no_answer
from nodes.reconstruction.parsed import ParsedDialogue

ENGLISH = """Chief complaint: Swollen ankles every evening.
Past history: Appendix removed in childhood, penicillin rash.
Family history: Father with gout, grandmother with glaucoma."""


def problems(note: str, language: Language, question: str, answer: str) -> list[int | None]:
    messages = [Message(role=PHYSICIAN, content=question), Message(role=PATIENT, content=answer)]
    parsed = ParsedDialogue(Dialogue(id="a", language=language, note=note, messages=messages))
    return [turn for _, turn in no_answer(parsed)]


def test_a_patient_who_never_knows_has_told_nothing() -> None:
    replies = ["I'm not sure.", "I don't remember.", "Maybe.", "Every evening."]
    said = [(PHYSICIAN, "Since when?"), (PATIENT, replies[3])]
    said += [pair for reply in replies[:3] for pair in ((PHYSICIAN, "Does it hurt?"), (PATIENT, reply))]
    for kept, refused in ((8, True), (4, False)):
        messages = [Message(role=role, content=text) for role, text in said[:kept]]
        found = no_answer(ParsedDialogue(Dialogue(id="a", note=ENGLISH, messages=messages)))
        assert any("contain no answer" in message for message, _ in found) is refused


def test_a_patient_who_answers_with_questions_has_told_nothing() -> None:
    said = [(PHYSICIAN, "Since when?"), (PATIENT, "Does it matter?"), (PHYSICIAN, "Tell me more."), (PATIENT, "Why?")]
    for kept, refused in ((4, True), (2, False)):
        messages = [Message(role=role, content=text) for role, text in said[:kept]]
        found = no_answer(ParsedDialogue(Dialogue(id="a", note=ENGLISH, messages=messages)))
        assert any("only ask back" in message for message, _ in found) is refused


@pytest.mark.parametrize(
    ("language", "question", "reply", "refused"),
    [
        ("en", "Do you smoke?", "I see.", True),
        ("en", "Has anyone in your family had gout?", "Okay, thank you, doctor.", True),
        ("en", "What makes the swelling worse?", "Mm-hm.", True),
        ("en", "You take it every day?", "Right.", False),
        ("en", "Do the ankles swell?", "Mm-hm.", False),
        ("en", "How long has it been?", "Uncomfortably.", True),  # thirteen letters are not thirteen words
        ("en", "How long has it been?", "My ankles swell so that no shoe of mine fits on my feet.", False),
        ("en", "When did it begin?", "Hard to say.", False),
        ("en", "When did it begin?", "I couldn't say, doctor.", False),
        ("en", "May I look at your ankles?", "Okay.", False),
        ("en", "We will meet again next week, okay?", "All right, thank you.", False),
        ("en", "How does that sound?", "Sure.", False),
        ("en", "Do you smoke?", "Okay, doctor, I will tell you: a pack a day.", False),
        ("zh", "您抽烟吗？", "我知道了。", True),
        ("zh", "家族里有什么病？", "好的。", True),
        ("zh", "我给您看看，好吗？", "好的。", False),
        ("zh", "您抽烟吗？", "嗯。", False),
    ],
)
def test_to_hear_out_or_to_miss_a_question_is_no_answer(
    language: Language, question: str, reply: str, refused: bool
) -> None:
    assert (problems(ENGLISH, language, question, reply) != []) is refused


def test_a_patient_who_only_listens_has_told_nothing() -> None:
    said = [(PHYSICIAN, "Since when?"), (PATIENT, "Every evening.")]
    said += [pair for reply in ("Right.", "Sure.") for pair in ((PHYSICIAN, "Does it hurt?"), (PATIENT, reply))]
    for kept, refused in ((6, True), (4, False)):
        messages = [Message(role=role, content=text) for role, text in said[:kept]]
        found = no_answer(ParsedDialogue(Dialogue(id="a", note=ENGLISH, messages=messages)))
        assert any("sound of assent" in message for message, _ in found) is refused


@pytest.mark.parametrize(
    ("language", "told", "reply", "refused"),
    [
        ("en", "I smoke a pack a day.", "And how long for?", True),
        ("en", "I smoke a pack a day.", "So do I.", False),
        ("en", "An X-ray comes next.", "Will it hurt?", False),
        ("zh", "接下来拍个片子。", "会疼吗？", False),
    ],
)
def test_a_patient_may_ask_but_not_of_what_the_physician_has_told_of_himself(
    language: Language, told: str, reply: str, refused: bool
) -> None:
    assert (problems(ENGLISH, language, told, reply) != []) is refused
