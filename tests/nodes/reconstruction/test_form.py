"""What is said again, who asks and who is asked."""

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.vocabulary import Language
from nodes.reconstruction.form import repeated, roles_swapped
from nodes.reconstruction.parsed import ParsedDialogue


@pytest.mark.parametrize(
    ("language", "question", "reply", "told"),
    [
        ("en", "Does it hurt at night?", "Only in the evening.", "the patient asks 4 questions, the physician only 0"),
        ("zh", "晚上疼吗？", "只有傍晚疼。", "the patient asks 4 questions, the physician only 0"),
    ],
)
def test_a_patient_who_asks_while_the_physician_answers_has_the_other_role(
    language: Language, question: str, reply: str, told: str
) -> None:
    def swapped(asks: str, answers: str, times: int) -> list[str]:
        said = [(asks, question), (answers, reply)] * times
        messages = [Message(role=role, content=text) for role, text in said]
        parsed = ParsedDialogue(Dialogue(id="a", language=language, note="", messages=messages))
        return [message for message, _ in roles_swapped(parsed)]

    assert swapped(PATIENT, PHYSICIAN, 4) == [told]
    assert swapped(PATIENT, PHYSICIAN, 3) == [] == swapped(PHYSICIAN, PATIENT, 4)


@pytest.mark.parametrize(("reply", "refused"), [("Not that I know of.", False), ("Not since I fell in May.", True)])
def test_what_says_nothing_may_be_said_again(reply: str, refused: bool) -> None:
    said = [(PHYSICIAN, "Any fever?"), (PATIENT, reply), (PHYSICIAN, "Does it itch?"), (PATIENT, reply)]
    messages = [Message(role=role, content=text) for role, text in said]
    assert bool([*repeated(ParsedDialogue(Dialogue(id="a", messages=messages)))]) is refused
