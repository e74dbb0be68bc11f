from collections import Counter
from dataclasses import fields
from itertools import permutations
from typing import Any

import pytest

from llm import ModelSettings
from llm.role import variables
from prompts import load_prompt
from prompts.files import Language
from scoring.aie.distractors import LETTERS, options
from scoring.aie.mcq import (
    McqView,
    Question,
    answer_questions,
    interactive_diagnosis,
    mcq_diagnosis,
    mcq_doctor,
    nearest_option,
    questions_of,
)
from tests.scoring.transcripts_of_ours import aie
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.runs import spec

OPTIONS = {"A": "Gout", "B": "Pneumonia", "C": "Asthma"}


def question(case: str = "1", record: str = "Chest X-ray: pneumonia.", right: str = "B") -> Question:
    return Question(case, "en", McqView(record, OPTIONS), right)


def by_server(server: FakeServer) -> ModelSettings:
    return ModelSettings(models={"mcq_doctor": spec(server)}, max_attempts=1)


async def test_offline_the_option_with_most_words_on_record_is_chosen_whichever_is_right() -> None:
    asked = [question(str(place), right=right) for place, right in enumerate("ABC")]
    answered = await answer_questions(asked, ModelSettings())
    assert answered.letters == {"0": "B", "1": "B", "2": "B"} and not answered.failures
    assert [sample.value for sample in mcq_diagnosis(asked, answered.letters)] == [0, 100, 0]


async def test_offline_chinese_records_are_cut_by_their_language() -> None:
    asked = Question("1", "zh", McqView("胸片提示右下肺炎，咳嗽三天。", {"A": "痛风", "B": "肺炎"}), "B")
    assert (await answer_questions([asked], ModelSettings())).letters == {"1": "B"}


def test_offline_a_record_without_any_option_is_answered_by_the_first() -> None:
    for names in permutations(OPTIONS.values()):
        assert mcq_doctor.offline(McqView("", dict(zip("ABC", names, strict=True)))).letter == "A"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_holds_record_and_options_and_nothing_about_which_is_right(language: Language) -> None:
    assert [field.name for field in fields(McqView)] == ["record", "options"]
    system, user = load_prompt("judges/mcq", language).render(variables(question().view))
    assert "Chest X-ray: pneumonia." in user and "A. Gout\nB. Pneumonia\nC. Asthma" in user
    assert not any(letter in system for letter in OPTIONS.values())


async def test_a_model_is_asked_the_same_whichever_option_is_right_and_may_answer_those_letters_alone() -> None:
    with FakeServer(answer=lambda request: {"letter": "C"}) as server:
        for right in OPTIONS:
            answered = await answer_questions([question(right=right)], by_server(server))
            assert answered.letters == {"1": "C"}
        assert len({request.digest for request in server.requests}) == 1
        assert {tuple((request.schema or {})["properties"]["letter"]["enum"]) for request in server.requests} == {
            ("A", "B", "C")
        }


async def test_a_letter_of_no_option_is_asked_about_once_and_is_wrong_and_a_failing_server_leaves_none() -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        return {"letter": "E" if "pneumonia" in request.text else "A"}

    asked = [question("odd"), question("good", "A swollen toe.", "A")]
    with FakeServer(answer=answer) as server:
        answered = await answer_questions(asked, by_server(server))
        assert len([request for request in server.requests if "pneumonia" in request.text]) == 2  # repaired once
    assert answered.letters == {"odd": "E", "good": "A"} and not answered.failures
    assert [sample.value for sample in mcq_diagnosis(asked, answered.letters)] == [0.0, 100.0]
    with FakeServer(faults=lambda request: "500") as server:
        answered = await answer_questions(asked, by_server(server))
    assert answered.failures.keys() == {"odd", "good"} and answered.failures["odd"].startswith("model_error")
    assert [sample.value for sample in mcq_diagnosis(asked, answered.letters)] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("diagnosis", "letter"),
    [
        ("pneumonia", "B"),
        ("suspected asthma", "C"),
        ("Bacterial pneumonia", "B"),
        ("Appendicitis", None),
        ("", None),
    ],
)
def test_a_free_diagnosis_chooses_the_option_that_it_agrees_with_most(diagnosis: str, letter: str | None) -> None:
    assert nearest_option(diagnosis, OPTIONS) == letter


def test_a_diagnosis_between_two_options_chooses_neither_unless_one_is_nearer() -> None:
    types = {"A": "Type 1 diabetes mellitus", "B": "Type 2 diabetes mellitus"}
    assert nearest_option("Diabetes mellitus", types) is None
    assert nearest_option("Diabetes mellitus", types | {"C": "Diabetes mellitus"}) == "C"


def test_only_the_first_interactive_diagnosis_counts_and_none_is_wrong() -> None:
    values = [
        interactive_diagnosis(question(), names).value for names in (["Pneumonia"], ["Gout", "Pneumonia"], ["Flu"], [])
    ]
    assert values == [100, 0, 0, 0]
    listed = Question("1", "en", McqView("x", {"A": "1. Gout; 2. Flu", "B": "1. Flu; 2. Gout"}), "A")
    assert interactive_diagnosis(listed, ["Gout"]).value == 100, "of an option that is a list, the principal one"


def test_the_right_letter_is_spread_over_all_positions_by_the_cases_id_alone() -> None:
    right = Counter(options(f"case-{number}", "Right", ["a", "b", "c", "d"])[1] for number in range(200))
    assert set(right) == set(LETTERS) and max(right.values()) < 80


def test_what_a_case_asks_stands_once_under_its_record_also_where_it_repeats_the_record() -> None:
    read = [
        aie("咳嗽三天。", question="最可能的诊断是？"),
        aie("A cough. What is it?", question="What is it?", id=2),
        aie("A cough. What is it?", question="A cough. What is it?", id=3),
        aie("A cough.\nA fever.\nWhat is it?", question="A cough. A fever. What is it?", id=4),
    ]
    records = [question.view.record for question in questions_of(read)[0]]
    assert records[:3] == ["咳嗽三天。\n最可能的诊断是？", "A cough. What is it?", "A cough. What is it?"]
    assert records[3] == "A cough.\nA fever.\nWhat is it?"
    assert [one.asked for one in read] == ["最可能的诊断是？", "What is it?", "What is it?", "What is it?"]


def test_transcripts_give_one_question_a_case_and_reasons_where_there_is_none() -> None:
    found, reasons = questions_of(
        [
            aie("咳嗽三天。", id=1),
            aie("咳嗽三天。", id=1, diagnosis="B"),
            aie("Cough.", id=2, options={}),
            aie("Cough.", id=3, answer_idx="F"),
            aie("Cough.", id=4, options={"A": "Flu", "B": None}),
        ]
    )
    assert [(one.case, one.language, one.right) for one in found] == [("1", "zh", "A"), ("4", "en", "A")]
    assert found[1].view.options == {"A": "Flu"} and set(reasons) == {"2", "3"} and "not one of its" in reasons["3"]
