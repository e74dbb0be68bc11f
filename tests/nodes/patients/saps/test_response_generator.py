import re
from typing import Any

import pytest

from cases.vocabulary import Language
from nodes.offline.record_answers import Silence
from nodes.patients.saps.response_generator import GeneratorState, ReleasedView, quote_what_is_released
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Turn
from prompts import load_prompt, load_words
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


def said(
    action: Action, language: Language, released: list[str], words: str = "?", silence: Silence = "nothing"
) -> str:
    own_words = [("present_illness", text) for text in released]
    return quote_what_is_released(ReleasedView(words, [], action, released, "", own_words, language, silence)).text


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
@pytest.mark.parametrize("action", ["Effective Inquiry", "Effective Advice"])
def test_by_rule_a_patient_who_leaves_all_that_is_released_unsaid_cannot_tell(
    action: Action, language: Language
) -> None:
    """Asked for the habits of "social history not provided", the patient had no words, and the case was lost."""
    phrases = load_words("consultation/words", language)["patient"]
    expected = {"Effective Inquiry": "untold", "Effective Advice": "followed"}
    assert said(action, language, [""], silence="untold") == phrases[expected[action]]


@LANGUAGES
@pytest.mark.parametrize("action", ["Initialization", "Effective Inquiry", "Effective Advice"])
def test_by_rule_the_patient_quotes_what_is_released_and_nothing_else(action: Action, language: Language) -> None:
    joint = " " if language == "en" else ""
    assert said(action, language, ["One.", "Two."]) == f"One.{joint}Two."


@pytest.mark.parametrize(
    ("language", "words", "names_a_test"),
    [
        ("en", "Keep off the cigarettes.", False),
        ("en", "Please have an MRI of the knee.", True),
        ("zh", "多喝水。", False),
        ("zh", "建议做个磁共振。", True),
    ],
)
def test_by_rule_the_patient_misses_a_result_of_advised_tests_alone(
    language: Language, words: str, names_a_test: bool
) -> None:
    no_result = load_words("saps/words", language)["ineffective_advice"]
    reply = said("Ineffective Advice", language, [], words)
    assert (reply == no_result) is names_a_test
    assert honest(Reply("t", "p", CODES["Ineffective Advice"], reply, "", "", None, None), "sound") == 1.0


@LANGUAGES
@pytest.mark.parametrize("silence", ["nothing", "untold", "unclear"])
def test_no_is_said_only_where_the_memory_bank_found_that_nothing_is_recorded(
    language: Language, silence: Silence
) -> None:
    no = load_words("saps/words", language)["ineffective_inquiry"]
    reply = no if silence == "nothing" else load_words("consultation/words", language)["patient"][silence]
    assert said("Ineffective Inquiry", language, [], "?", silence) == reply


def test_the_generator_has_no_record_before_it() -> None:
    assert not {"patient_record", "examination_record"} & GeneratorState.__annotations__.keys()


@pytest.mark.parametrize(("language", "examiner", "doctor"), [("en", "examiner", "doctor"), ("zh", "检查员", "医生")])
@pytest.mark.parametrize("prompt", ["saps/response_generator", "medchain/extraction"])
def test_what_the_examiner_said_is_not_the_doctors_or_the_patients(
    prompt: str, language: Language, examiner: str, doctor: str
) -> None:
    turns = [Turn(speaker="doctor", text="One?"), Turn(speaker="examiner", text="Two.")]
    asked = load_prompt(prompt, language)
    values = dict.fromkeys(asked.variables, "") | {"dialogue": turns, "language": language}
    text = asked.render({name: values[name] for name in asked.variables})[1]
    assert re.findall(r'<data name="(.+)">\n(?:One\?|Two\.)', text) == [doctor, examiner]
