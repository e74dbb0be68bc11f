"""What a user trusts: nobody reads the key who is not a judge, and no text of a case stands among the instructions."""

from typing import Any

import pytest

from cases import AnswerKey, Case
from llm import Call
from llm.trace import collecting_calls
from tests.graphs.scripting import builtin, calls, raw, words
from tests.support.attacked import attacked, attacked_departments, attacked_neighbours
from tests.support.canaries import KEY, RECORD, RESULT, canaries, leaks, planted, told
from tests.support.courses import COURSES, SOME, WRITING, Course, everybody, in_the_other_language, in_turn, scored
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.fences import MARKS, obeyed
from wardround.config.experiment import suites_of
from wardround.run.tasks import TASKS

pytestmark = pytest.mark.slow

CASES = {"en": "otolaryngology-01", "zh": "internal-medicine-06"}


# Canaries.


def shown_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call.role, words(call)) for call in calls(result)]


def with_results(course: Course) -> set[str]:
    """CliniChat's patient brings the clinical note, with the results in it."""
    return {"patient"} if course.patient == "clinichat" else set()


def curious(request: ChatRequest) -> dict[str, Any] | None:
    """A doctor who asks for much and never ends, and a memory that opens what it is allowed to."""
    if request.name == "DoctorTurn":
        return {
            "text": "Which illnesses have you had before? Please have a CT and a blood test done.",
            "finished": False,
        }
    if request.name == "Recollection":
        return {"numbers": list(range(1, 9))}
    return None


def test_every_field_of_the_key_holds_a_canary_of_its_own() -> None:
    key = planted(builtin(CASES["en"])).key
    found = [canaries(str(getattr(key, name))) for name in AnswerKey.model_fields]
    assert all(found) and len(set.union(*found)) == sum(map(len, found))


@in_turn(COURSES, CASES)
def test_offline_nobody_is_shown_the_key_or_what_the_patients_side_has_not_released(
    course: Course, language: str
) -> None:
    case = planted(builtin(CASES[language]))
    assert case.language == language
    result = course.run(case)
    assert leaks(shown_of(result), result, with_results(course)) == set()
    assert not any(f"{KEY}canary" in call.model_dump_json() for call in calls(result))
    untold = canaries(case.examinations.model_dump_json()) - canaries(told(result))
    # One-step diagnosis lays the records open, and CliniChat's doctor asks for all results there are.
    assert untold or course.graph == "one_step" or course.patient == "clinichat"


@in_the_other_language(SOME, CASES)  # offline each course is hunted through
def test_over_a_server_nobody_is_sent_the_key_or_what_the_patients_side_has_not_released(
    course: Course, language: str
) -> None:
    with FakeServer(answer=curious) as server:
        models = everybody(server, **({"moderator": "offline"} if course.complexity else {}))
        result = course.run(planted(builtin(CASES[language])), models=models, max_turns=4)
    sent = [(request.model, raw(request)) for request in server.requests]
    assert len(sent) >= (1 if course.graph == "one_step" else 4)
    assert leaks(sent, result, with_results(course)) == set()


def test_that_hunt_finds_each_record_in_the_hands_of_one_who_has_not_been_told() -> None:
    result = Course("consultation", "ai_hospital").run(planted(builtin(CASES["en"])))
    assert canaries(told(result)), "the patient did tell something"
    for role, kind in (("doctor", KEY), ("doctor", RECORD), ("doctor", RESULT), ("examiner", RECORD), ("patient", KEY)):
        assert leaks([(role, f"So: {kind}canary999.")], result) == {f"{role}: {kind}canary999"}
    assert leaks([("patient", f"{RECORD}canary999"), ("memory_bank", f"{RESULT}canary999")], result) == set()


def test_a_judge_may_read_the_key_and_the_hunt_sees_that() -> None:
    case = planted(builtin(CASES["en"]))
    course = Course("consultation", "ai_hospital")
    result = course.run(case)
    asked = judged(course, case, result)
    assert any(f"{KEY}canary" in words(call) for call in asked)
    assert {call.role for call in asked}.isdisjoint({call.role for call in calls(result)})


# Attacks in the text of a case stand in data tags, wherever they are shown.


def recalling(patch: pytest.MonkeyPatch, case: Case) -> None:
    """Let the memory recall one earlier case, which is attacked too, without looking anything up."""

    async def recalled(*_: Any) -> list[Any]:
        return attacked_neighbours(case)

    for module in ("case_retrieval", "reviewer"):
        patch.setattr(f"nodes.workflow.{module}.neighbours_for", recalled)


def judged(course: Course, case: Case, result: dict[str, Any]) -> list[Call]:
    """The calls of the judges of all suites that can score a course."""
    with collecting_calls() as asked:
        for suite in suites_of(course.graph):
            tracked = suite != "aie" or course.patient in ("saps", "medpmc")
            if tracked and (suite != "clini_eval" or course.graph == "reconstruction" or course.patient == "clinichat"):
                scored(suite, case, TASKS[course.graph].answers(result))
    return asked


@in_turn([*SOME, *WRITING], CASES)  # of each prompt by itself, `tests/prompts/test_fences.py` shows it
def test_every_attack_stands_in_data_tags_in_every_prompt_of_doctors_patients_and_judges(
    course: Course, language: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = builtin(CASES[language])
    recalling(monkeypatch, case)
    context: Any = {"retrieval": True, "send_pictures": False, "sub_departments": attacked_departments(language)}
    result = course.run(attacked(case), **context)
    asked = [*calls(result), *judged(course, attacked(case), result)]
    texts = [str(message.get("content", "")) for call in asked for message in call.messages or []]
    assert obeyed(texts) == []
    shown = [text for text in texts if any(mark in text for mark in MARKS)]
    assert len(shown) >= len(texts) // 3
