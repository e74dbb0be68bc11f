"""The answer is to the question."""

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.vocabulary import Language
from nodes.reconstruction.answers import no_answer
from nodes.reconstruction.content import Told

ENGLISH = """Chief complaint: Swollen ankles every evening.
Past history: Appendix removed in childhood, penicillin rash.
Family history: Father with gout, grandmother with glaucoma."""


def problems(note: str, language: Language, question: str, answer: str) -> list[int | None]:
    messages = [Message(role=PHYSICIAN, content=question), Message(role=PATIENT, content=answer)]
    told = Told(Dialogue(id="a", language=language, note=note, messages=messages))
    return [turn for _, turn in no_answer(told)]


def test_a_patient_who_never_knows_has_told_nothing() -> None:
    replies = ["I'm not sure.", "I don't remember.", "Maybe.", "Every evening."]
    said = [(PHYSICIAN, "Since when?"), (PATIENT, replies[3])]
    said += [pair for reply in replies[:3] for pair in ((PHYSICIAN, "Does it hurt?"), (PATIENT, reply))]
    for kept, refused in ((8, True), (4, False)):
        messages = [Message(role=role, content=text) for role, text in said[:kept]]
        found = no_answer(Told(Dialogue(id="a", note=ENGLISH, messages=messages)))
        assert any("contain no answer" in message for message, _ in found) is refused


def test_a_patient_who_answers_with_questions_has_told_nothing() -> None:
    said = [(PHYSICIAN, "Since when?"), (PATIENT, "Does it matter?"), (PHYSICIAN, "Tell me more."), (PATIENT, "Why?")]
    for kept, refused in ((4, True), (2, False)):
        messages = [Message(role=role, content=text) for role, text in said[:kept]]
        found = no_answer(Told(Dialogue(id="a", note=ENGLISH, messages=messages)))
        assert any("only ask back" in message for message, _ in found) is refused
