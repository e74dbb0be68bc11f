from typing import Any

import pytest

from cases.vocabulary import Language
from nodes.patients.saps.response_generator import GeneratorState, ReleasedView, quote_what_is_released
from nodes.patients.saps.state_tracker import Action
from scoring.aie.simulator import Reply, focus, guidance, honest
from scoring.aie.simulator_set import CODES

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
BEHAVIOUR: list[tuple[Action, Any]] = [
    ("Ineffective Inquiry", honest),
    ("Ineffective Advice", honest),
    ("Ambiguous Inquiry", guidance),
    ("Ambiguous Advice", guidance),
    ("Demand", focus),
    ("Other Topic", focus),
]


def said(action: Action, language: Language, released: list[str], words: str = "?") -> str:
    own_words = [("present_illness", text) for text in released]
    return quote_what_is_released(ReleasedView(words, [], action, released, "", own_words, language)).text


@LANGUAGES
@pytest.mark.parametrize(("action", "metric"), BEHAVIOUR)
@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_by_rule_the_patient_does_what_the_action_requires(
    action: Action, metric: Any, definition: Any, language: Language
) -> None:
    if definition == "paper" and language == "en":
        pytest.skip("the published keywords are Chinese")
    reply = Reply("t", "p", CODES[action], said(action, language, []), "", "头痛三天。", None, None)
    assert metric(reply, definition) == 1.0


@LANGUAGES
@pytest.mark.parametrize("action", ["Initialization", "Effective Inquiry", "Effective Advice"])
def test_by_rule_the_patient_quotes_what_is_released_and_nothing_else(action: Action, language: Language) -> None:
    joint = " " if language == "en" else ""
    assert said(action, language, ["One.", "Two."]) == f"One.{joint}Two."


@pytest.mark.parametrize(
    ("language", "words", "reply"),
    [
        ("en", "Do you have asthma?", "No, I do not know of anything like that."),
        ("en", "How many cigarettes do you smoke?", "I could not tell you anything about that."),
        ("en", "Does it go gloop in there?", "I am not sure what you mean. Could you ask me that in another way?"),
        ("zh", "您有哮喘吗？", "没有，这个我不清楚。"),
        ("zh", "您一天抽多少烟？", "这个我说不上来。"),
    ],
)
def test_no_answers_a_question_for_something_alone(language: Language, words: str, reply: str) -> None:
    assert said("Ineffective Inquiry", language, [], words) == reply


def test_the_generator_has_no_record_before_it() -> None:
    assert not {"patient_record", "examination_record"} & GeneratorState.__annotations__.keys()
