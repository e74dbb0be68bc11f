"""The interview by rule: what the note holds, each thing once."""

from cases.notes import Note
from nodes.reconstruction.dialogue_writer import short_script

WORK = "I work as a graphic designer."


def test_work_that_stands_among_the_habits_too_is_told_once() -> None:
    text = (
        "Patient: 35-year-old female, graphic designer.\nChief complaint: Double vision.\n"
        "Social history: Non-smoker. Works as a graphic designer."
    )
    replies = " ".join(exchange.patient for exchange in short_script(Note(id="a", text=text, language="en")))
    assert replies.count(WORK) == 1 and "smoke" in replies
