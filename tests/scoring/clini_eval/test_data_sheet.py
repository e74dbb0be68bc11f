"""The data sheet counts what the paper's table counts."""

from cases.dialogues import Dialogue, Message
from cases.text.words import count_words
from scoring.clini_eval.data_sheet import data_sheet


def spoken(*turns: str, **more: object) -> Dialogue:
    roles = ("user", "assistant")
    messages = [Message(role=roles[number % 2], content=text) for number, text in enumerate(turns)]  # type: ignore[arg-type]
    return Dialogue.model_validate({"id": "d", "messages": messages, **more})


def test_turns_words_departments_and_diseases_are_counted() -> None:
    system = Message(role="system", content="Never counted at all.")
    one = spoken("Hello.", "What is it?", "My chest hurts.", "Since when is that so?", department="Surgery")
    one = one.model_copy(
        update={"messages": [system, *one.messages], "diseases": ["Gout", "Asthma"], "source": "a.csv"}
    )
    two = spoken("你好。", "哪里疼？", language="zh", diseases=["Gout"])
    sheet = data_sheet([one, two], ["gates: plain_words", "model_error", "model_error"])
    assert (sheet.dialogues, sheet.max_turns, sheet.min_turns, sheet.average_turns) == (2, 2, 1, 1.5)
    assert sheet.average_words_patient == ((1 + 3) / 2 + 2) / 2
    assert sheet.average_words_physician == ((3 + 5) / 2 + 3) / 2
    assert sheet.departments == {"Surgery": 1, "not recorded": 1}
    assert sheet.diseases == {"Gout": 2} and sheet.languages == {"en": 1, "zh": 1}
    assert sheet.sources == {"a.csv": 1, "not recorded": 1} and sheet.inferred == 0
    assert sheet.failed == {"model_error": 2, "gates: plain_words": 1}


def test_departments_with_under_two_percent_are_too_few() -> None:
    sheet = data_sheet([spoken("Hello.", department="Surgery"), *[spoken("Hello.", department="Urology")] * 60])
    assert sheet.rare == ["Surgery"]


def test_the_disease_of_a_note_that_names_none_is_what_the_writer_came_to() -> None:
    sheet = data_sheet([spoken("Hello.", inferred="Gout"), spoken("Hello.", diseases=["Gout"], inferred="Asthma")])
    assert sheet.diseases == {"Gout": 2} and sheet.inferred == 1


def test_of_no_dialogue_nothing_is_averaged() -> None:
    sheet = data_sheet([])
    assert (sheet.dialogues, sheet.average_turns, sheet.max_turns, sheet.average_words_patient) == (0, None, None, None)


def test_a_chinese_character_and_a_latin_word_are_a_word_each() -> None:
    assert count_words("血压120/80，CT 未见。") == 6
    assert count_words("It's 37.5 degrees, follow-up!") == 4
    assert count_words("dys\u00adpnoea, follow\u200b-up") == 2, "as they are read"
