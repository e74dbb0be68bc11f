from typing import get_args

import pytest

from cases import ExaminationRecord, PatientRecord
from cases.text.record_sentences import record_sentences
from cases.text.words import language_of
from cases.vocabulary import Language
from llm.schema import answer_schema
from nodes.patients.saps import state_tracker
from nodes.patients.saps.state_tracker import (
    Action,
    ActionKind,
    Coverage,
    KindView,
    RecordView,
    Specificity,
    WordsView,
    coverage_by_rule,
    kind_by_rule,
    specificity_by_rule,
)
from scoring.aie.transcripts import ACTIONS

FACTS = record_sentences(
    PatientRecord(chief_complaint="Cough.", present_illness="It is worse at night. There was no blood."),
    ExaminationRecord(auxiliary={"X-ray": "Shadow at the left base."}),
    "en",
)


def test_the_actions_are_the_ten_of_the_paper() -> None:
    assert get_args(Action) == (
        "Initialization",
        "Effective Inquiry",
        "Ineffective Inquiry",
        "Ambiguous Inquiry",
        "Effective Advice",
        "Ineffective Advice",
        "Ambiguous Advice",
        "Demand",
        "Other Topic",
        "Conclusion",
    )
    assert set(get_args(Action)) == set(ACTIONS.values())


@pytest.mark.parametrize(
    ("answer", "field", "choices"),
    [
        (ActionKind, "kind", ["inquiry", "advice", "demand", "other_topic", "conclusion"]),
        (Specificity, "specificity", ["specific", "ambiguous"]),
        (Coverage, "coverage", ["on_record", "not_on_record"]),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_schema_of_a_step_forces_its_closed_choice(
    answer: type, field: str, choices: list[str], language: Language
) -> None:
    schema = answer_schema(answer, language)
    assert schema["properties"][field]["enum"] == choices
    assert schema["required"] == [field] and schema["additionalProperties"] is False


def test_the_steps_by_rule_read_words_kind_and_record() -> None:
    assert kind_by_rule(WordsView("Please cough for me.", [], "en")).kind == "demand"
    assert specificity_by_rule(KindView("How are you?", [], "inquiry", "en")).specificity == "ambiguous"
    assert specificity_by_rule(KindView("An X-ray is needed.", [], "advice", "en")).specificity == "specific"
    assert coverage_by_rule(RecordView("Is there blood?", [], "inquiry", "en", FACTS)).coverage == "on_record"
    assert coverage_by_rule(RecordView("An MRI, please.", [], "advice", "en", FACTS)).coverage == "not_on_record"


@pytest.mark.parametrize(
    ("words", "online", "in_one_room"),
    [
        ("May I have a look at that rash of yours?", "demand", "advice"),
        ("Would you mind showing me the rash?", "demand", "advice"),
        ("我能看看您的皮疹吗？", "demand", "advice"),
        ("Can I take a look at your heart with an ECG?", "advice", "advice"),
        ("Can I have a look at your test results?", "inquiry", "advice"),
        ("Where does it hurt, can you show me?", "inquiry", "inquiry"),
        ("When can I see you again?", "inquiry", "inquiry"),
    ],
)
def test_who_is_to_be_shown_something_on_the_spot_demands_it_online(words: str, online: str, in_one_room: str) -> None:
    kinds = [kind_by_rule(WordsView(words, [], language_of(words), room)).kind for room in (False, True)]
    assert kinds == [online, in_one_room]


def test_no_step_but_the_last_shows_the_record_to_a_model() -> None:
    from prompts import load_prompt

    shown = {
        role.prompt: load_prompt(role.prompt, "en").variables
        for role in (
            state_tracker.kind_tracker,
            state_tracker.specificity_tracker,
            state_tracker.coverage_tracker,
        )
    }
    assert [name for name, variables in shown.items() if "facts" in variables] == ["saps/tracker_coverage"]
