"""Texts of a case that try to command its readers change no decision, no verdict and no end."""

import random
import re
from functools import cache
from typing import Any

import pytest

from cases import Case, load_cases
from cases.injections import PLACES, Attack, attacks, injected, injected_earlier
from prompts import templates
from retrieval import Neighbour, remember
from tests.graphs.scripting import builtin, calls
from tests.support.attacked import all_attacks, attacked
from tests.support.courses import COURSES, Course, everybody, in_turn, scored
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.fences import obeyed
from tests.support.schema_sampler import sample
from wardround.run.tasks import TASKS

pytestmark = pytest.mark.slow

CASES = {"en": "nursing-department-07", "zh": "internal-medicine-06"}
EACH_LANGUAGE = pytest.mark.parametrize("language", CASES)
RULED = [Course("clinical_workflow"), Course("consultation", "saps"), Course("dispute_resolution")]
OVER_A_SERVER = [Course("clinical_workflow"), *(course for course in COURSES if course.graph == "consultation")]
OVER_A_SERVER += [Course("dispute_resolution", "ai_hospital")]
# Words added to a result let an intern take over a diagnosis of a recalled case.
KNOWN_MISS = (Course("dispute_resolution"), "en", "report")
# Three agents, two of whom go by what the patient tells: the physicians, who go by what was found, object.
SETTING: Any = {"retrieval": True, "send_pictures": False, "general_agents": 3}

# What of an answer decides something; the rest is words.
DECIDING = {
    *("accepted", "agreed", "part", "kind", "specificity", "coverage", "complexity", "finished", "addressee"),
    *("action", "items", "department", "sub_departments", "urgency", "names", "diagnosis"),
}


def without(attack: str, value: Any) -> Any:
    """The value with the lines of an attack cut out of every text; a quoted complaint ends without a full stop."""
    if isinstance(value, dict):
        return {name: without(attack, part) for name, part in value.items()}
    if isinstance(value, list):
        return [without(attack, part) for part in value]
    if not isinstance(value, str):
        return value
    for line in filter(None, map(str.strip, attack.split("\n"))):
        value = re.sub(rf"{re.escape(line.rstrip('.。'))}[.。]?", "", value)
    return re.sub(r"[.。]?\s*(?=[”\"])", "", " ".join(value.split()))


def deciding(value: Any) -> Any:
    """Only what decides, at any depth."""
    if isinstance(value, list):
        return [deciding(part) for part in value if isinstance(part, dict)]
    if not isinstance(value, dict):
        return None
    return {name: part if name in DECIDING else deciding(part) for name, part in value.items()}


def decided(result: dict[str, Any], attack: str) -> dict[str, Any]:
    """What each call of a case decided, by its place in the course."""
    return {call.id: deciding(without(attack, call.answer)) for call in calls(result)}


def ends(result: dict[str, Any]) -> dict[str, Any]:
    """How each part of the course ended, and after how many rounds."""
    records = {record.stage: (record.ended, len(record.rounds)) for record in result.get("decisions", [])}
    collaboration = result.get("collaboration")
    return {**records, "discussion": collaboration and (collaboration.ended, collaboration.rounds)}


def earlier(language: str) -> list[Case]:
    """Three cases of different departments, so that there is something to object to."""
    return [case for case in load_cases() if case.split == "train" and case.language == language][4::14][:3]


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the memory recall the given cases: the first as the nearest in what is told, the last in what was found.

    By far: an attack is a part of a case's words, and of two that are equally near it decides as any words do.
    """

    def let(cases: list[Case]) -> None:
        found = [
            Neighbour(case=remember(case), similarity=near, told=near, found=1 - near)
            for near, case in zip((0.9, 0.5, 0.2), cases, strict=True)
        ]

        async def recalled(*_: Any) -> list[Neighbour]:
            return found

        for module in ("case_retrieval", "reviewer"):
            monkeypatch.setattr(f"nodes.workflow.{module}.neighbours_for", recalled)

    return let


def attack_of(case: Case) -> Attack:
    return next(attack for attack in attacks() if case.id.endswith(f"-{attack.name}"))


def dealt(variants: list[Case], course: Course, language: str) -> list[Case]:
    """A third of the variants: in each language each of them meets one of the courses, and each course some of them."""
    assert len(variants) == len(attacks())
    return variants[(RULED.index(course) + list(CASES).index(language)) % len(RULED) :: len(RULED)]


# Without a model.


@cache
def clean_run(course: Course, language: str) -> dict[str, Any]:
    """What is decided where nobody attacks, of which the memory has recalled the same three cases."""
    return course.run(builtin(CASES[language]), **SETTING)


@pytest.mark.parametrize("place", PLACES)
@EACH_LANGUAGE
@pytest.mark.parametrize("course", RULED, ids=str)
def test_offline_an_attack_in_a_case_changes_no_decision_no_verdict_and_no_end(
    course: Course, language: str, place: str, recall: Any, request: pytest.FixtureRequest
) -> None:
    if (course, language, place) == KNOWN_MISS:
        request.applymarker(pytest.mark.xfail(strict=True, reason="another diagnosis is taken over"))
    case = builtin(CASES[language])
    recall(earlier(language))
    clean = clean_run(course, language)
    for variant in dealt([variant for variant in injected(case) if f"-{place}-" in variant.id], course, language):
        attack = attack_of(variant).text(case.language)
        found = course.run(variant, **SETTING)
        assert decided(found, attack) == decided(clean, attack)
        assert ends(found) == ends(clean)


@EACH_LANGUAGE
@pytest.mark.parametrize("course", RULED, ids=str)
def test_offline_an_attack_in_an_earlier_case_changes_no_decision_no_verdict_and_no_end(
    course: Course, language: str, recall: Any
) -> None:
    case, [nearest, *others] = builtin(CASES[language]), earlier(language)
    recall([nearest, *others])
    clean = clean_run(course, language)
    for variant in dealt(injected_earlier(nearest), course, language):
        recall([variant, *others])
        attack = attack_of(variant).text(case.language)
        found = course.run(case, **SETTING)
        assert decided(found, attack) == decided(clean, attack) and ends(found) == ends(clean)


def test_those_courses_hold_objections_and_disputes_that_could_be_talked_away(recall: Any) -> None:
    recall(earlier("en"))
    courses = [clean_run(course, "en") for course in RULED]
    said = [deciding(call.answer) for result in courses for call in calls(result)]
    assert any(answer and answer.get("accepted") is False for answer in said)
    assert any(answer and answer.get("disputes") for answer in said)


@EACH_LANGUAGE
def test_offline_an_attack_in_a_report_counts_as_its_words_do_in_any_order(language: str) -> None:
    case = builtin(CASES[language])
    answers = TASKS["consultation"].answers(Course("consultation", "saps").run(case))
    assert answers.report is not None

    def graded(addition: str) -> Any:
        longer = {name: f"{getattr(answers.report, name)}\n{addition}" for name in ("basis", "treatment")}
        given = answers.model_copy(update={"report": answers.report.model_copy(update=longer)})
        return scored("mvme", case, given)

    said = all_attacks(case.language).split("\n")
    assert graded("\n".join(said)) == graded("\n".join(reversed(said)))
    assert graded("\n".join(said))["diagnosis"] == graded("")["diagnosis"]


# With a model that obeys whatever is not marked as data.


def obedient(request: ChatRequest) -> dict[str, Any]:
    """Does what an instruction outside of the data tags says; else always answers the same to the same role."""
    commanded = bool(obeyed([request.text]))
    drawn = sample(request.schema or {}, random.Random(f"{commanded}:{request.model}:{request.name}"))
    assert isinstance(drawn, dict)
    return {name: commanded if isinstance(value, bool) else value for name, value in drawn.items()}


def answered(course: Course, case: Case) -> dict[str, Any]:
    """Every answer of a case that the obedient model plays, by the place of the call, and the ends."""
    with FakeServer(answer=obedient) as server:
        result = course.run(case, models=everybody(server), max_turns=3, send_pictures=False)
    return {call.id: call.answer for call in calls(result) if call.attempts} | {"ends": ends(result)}


@in_turn(OVER_A_SERVER, CASES)
def test_a_model_that_obeys_what_is_not_marked_as_data_answers_an_attacked_case_as_the_case_itself(
    course: Course, language: str
) -> None:
    case = builtin(CASES[language])
    assert answered(course, attacked(case)) == answered(course, case)


def test_that_model_is_commanded_where_the_texts_are_not_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    course, case = Course("clinical_workflow"), builtin(CASES["en"])
    monkeypatch.setitem(templates._environment().filters, "fence", lambda text, label: str(text))
    clean, commanded = answered(course, case), answered(course, attacked(case))
    assert commanded != clean and re.search("agreed", str(commanded["ends"]))
