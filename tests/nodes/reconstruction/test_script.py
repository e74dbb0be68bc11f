"""The interview by rule: what the note holds, each thing once."""

import pytest

from cases.notes import Note
from nodes.reconstruction.dialogue_writer import short_script
from nodes.reconstruction.role_setting import roles_of
from nodes.reconstruction.script import script

WORK = "I work as a graphic designer."


def test_work_that_stands_among_the_habits_too_is_told_once() -> None:
    text = (
        "Patient: 35-year-old female, graphic designer.\nChief complaint: Double vision.\n"
        "Social history: Non-smoker. Works as a graphic designer."
    )
    replies = " ".join(exchange.patient for exchange in short_script(Note(id="a", text=text, language="en")))
    assert replies.count(WORK) == 1 and "smoke" in replies


@pytest.mark.parametrize(("age", "told"), [("3岁2月", "3岁"), ("1岁半", "18个月大"), ("8个月", "8个月大")])
def test_the_age_is_told_as_people_tell_it(age: str, told: str) -> None:
    note = Note(id="n", text=f"患儿，女，{age}，因咳嗽5天就诊。", language="zh")
    replies = [one.patient for part in script(note, roles_of(note), "") for one in part.exchanges]
    assert any(told in reply for reply in replies), replies


def test_an_earlier_illness_in_a_chinese_present_illness_is_asked_for_as_one() -> None:
    note = Note(id="n", text="主诉：头晕3天。现病史：高血压病史5年。伴有恶心。", language="zh")
    replies = {part.section: [one.patient for one in part.exchanges] for part in script(note, roles_of(note), "")}
    assert "恶心" in "".join(replies["present_illness"]) and "高血压" not in "".join(replies["present_illness"])
    assert "高血压" in "".join(replies["past_history"])


def test_a_complaint_that_nobody_says_is_replaced_by_the_first_of_the_story() -> None:
    note = Note(id="n", text="- 58 y/o man\n- chest pain for 2 hours\n- radiates to the left arm", language="en")
    assert short_replies(note)[0] == "I have chest pain for 2 hours."


def test_a_list_of_symptoms_does_not_tell_again_what_another_sentence_tells() -> None:
    told = "Present illness: He has had cough and fever for a week. He denies chest pain. Other symptoms: "
    note = Note(id="n", text=f"{told}Fever; No chest pain; Night sweats; No cough.", language="en")
    replies = " ".join(short_replies(note))
    assert "also had night sweats" in replies and "also had fever" not in replies
    assert replies.count("fever") == replies.count("chest") == 1
    assert "No cough" in replies  # which contradicts the other sentence, and is not the same
    nothing_new = Note(id="n", text=f"{told}Fever; Cough.", language="en")
    assert not any("also" in one for one in short_replies(nothing_new))


def short_replies(note: Note) -> list[str]:
    return [one.patient for part in script(note, roles_of(note), "") for one in part.exchanges]
