"""The note's words around another word, or around a denial that is gone: named, and other wordings are let through."""

import pytest

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.vocabulary import Language
from nodes.reconstruction.collation import other_words
from nodes.reconstruction.content import Told, scrambled
from nodes.reconstruction.kinds import other_of_its_kind

NOTE = """History: The stabbing pain in his left flank began after a long journey by train. He has high blood pressure,
and the swelling of the ankles did not go away at night. He lives with his wife."""
CHINESE = "现病史：患者吞咽时疼痛逐渐加重，夜间无明显咳嗽。\n家族史：父亲患有高血压。\n检查：四肢肌力正常，病理征阴性。"


def told(text: str, note: str = NOTE, language: Language = "en", role: str = PATIENT) -> Told:
    messages = [Message(role=PHYSICIAN, content="Please go on."), Message(role=role, content=text)]
    return Told(Dialogue(id="a", language=language, note=note, messages=messages))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The stabbing pain in my left flank began after a long illness by train.", "'illness'"),
        ("I have low blood pressure.", "'low'"),
        ("The swelling of the ankles did go away at night.", "'did'"),
    ],
)
def test_another_word_between_the_note_s_words_is_named(text: str, found: str) -> None:
    assert [(message.split(",")[0], turn) for message, turn in other_words(told(text))][:1] == [(found, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "The stabbing pain in my left flank began after a long journey by train.",
        "It hurts on the left since I travelled far, and my blood pressure is high.",
        "The swelling of the ankles didn't go away at night.",
        "I have high blood pressure. My brother has low blood pressure, I high blood pressure.",
    ],
)
def test_what_the_note_says_in_these_or_other_words_is_let_through(text: str) -> None:
    assert list(other_words(told(text))) == []


@pytest.mark.parametrize(
    "text", ["我吞咽时疼痛逐渐减轻。", "夜间有明显咳嗽。", "四肢肌力异常，病理征阴性。", "四肢肌力正常，病理征阳性。"]
)
def test_chinese_is_collated_by_its_signs(text: str) -> None:
    assert list(other_words(told(text, CHINESE, "zh")))
    assert list(other_words(told("我吞咽时疼痛逐渐加重，夜里没有明显咳嗽。", CHINESE, "zh"))) == []


def test_a_relative_for_the_other_is_named_whatever_is_told_of_them() -> None:
    assert list(other_of_its_kind(told("My husband drove me.")))
    assert list(other_of_its_kind(told("母亲血压高。", CHINESE, "zh")))
    assert list(other_of_its_kind(told("My wife drove me, and her husband waits outside."))) == []
    assert list(other_of_its_kind(told("父亲血压高。", CHINESE, "zh"))) == []


def test_words_drawn_by_lot_are_no_sentence() -> None:
    assert scrambled("the Since knee my of is pain week a, worse", "en")
    assert not scrambled("She says that he is afraid that her mother will die. I have to work at a bakery.", "en")
    assert scrambled("痛头天三我了，咳夜还里嗽烧没发有", "zh")
    assert not scrambled("我头痛三天了，夜里还咳嗽，没有发热。", "zh")
