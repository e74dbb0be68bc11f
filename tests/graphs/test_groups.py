"""Who the doctors of a stage's group are, and in which order the groups of history-taking work (MedChain, B.1)."""

import re
from typing import Any

import pytest

from cases.vocabulary import SECOND_LEVEL
from graphs import clinical_workflow
from llm import Call
from tests.graphs.scripting import builtin, calls, words
from tests.support.fake_server import FakeServer

CASE = builtin("surgery-01")
WORKFLOW: Any = clinical_workflow
QUICK = {"retrieval": False, "discussion_rounds": 1, "feedback": "off", "max_turns": 2}


def run(**context: Any) -> dict[str, Any]:
    result: dict[str, Any] = WORKFLOW.invoke({"case": CASE}, context={**QUICK, **context})
    return result


def specialties(found: list[Call]) -> list[str]:
    """What each seat of a stage is told that it is, by seat; empty where nothing is said."""
    by_seat = sorted(found, key=lambda call: call.id)
    told = [re.search(r'<data name="your specialty">\n(.*?)\n</data>', words(call)) for call in by_seat]
    return [match[1] if match else "" for match in told]


def test_each_seat_of_a_group_has_a_model_of_its_own() -> None:
    with FakeServer() as server:
        models = {f"general{seat}": f"openai:seat{seat}@{server.base_url}" for seat in (1, 2, 3)}
        result = run(models=models)
    asked = {call.id.rpartition("seat")[2]: call.model for call in calls(result, "general")}
    assert {seat: model.partition("@")[0] for seat, model in asked.items()} == {
        str(seat): f"openai:seat{seat}" for seat in (1, 2, 3)
    }
    assert {request.model for request in server.requests} == {"seat1", "seat2", "seat3"}


def test_once_there_is_a_department_its_specialists_discuss_those_of_the_referral_first() -> None:
    result = run()
    referral = result["referral"]
    assert specialties(calls(result, "general", "referral.level1")) == ["", "", ""]
    seated = specialties(calls(result, "general", "diagnosis"))
    assert len(set(seated)) == 3 and set(seated) <= set(SECOND_LEVEL[referral.department].names)
    assert seated[: len(referral.sub_departments)] == referral.sub_departments[:3]


def test_seats_can_be_named_or_plain_doctors() -> None:
    named = run(specialties=["Cardiology", "Nephrology"], general_agents=3)
    assert specialties(calls(named, "general", "referral.level1")) == ["Cardiology", "Nephrology", "Cardiology"]
    plain = run(specialties="plain")
    assert set(specialties(calls(plain, "general"))) == {""}


def test_a_recruiter_names_the_specialists_of_each_task_once_and_no_more_than_there_are_seats() -> None:
    result = run(specialties="recruited", general_agents=2, retrieval=True)
    recruited = calls(result, "recruiter")
    assert sorted(call.stage for call in recruited) == sorted({call.stage for call in calls(result, "general")})
    for call in recruited:
        named = [expert["domain"] for expert in call.answer["experts"]]
        assert len(named) <= 2 and specialties(calls(result, "general", call.stage)) == named


@pytest.mark.parametrize("order_groups", ["in_turn", "side_by_side"])
def test_auxiliary_examinations_are_ordered_in_view_of_the_physical_ones_if_in_turn(order_groups: str) -> None:
    result = run(order_groups=order_groups)
    assert result["physical_orders"]
    shown = [words(call) for call in calls(result, "general", "history_taking.auxiliary")]
    told = f"Physical examinations ordered: {', '.join(result['physical_orders'])}"
    assert shown and all((told in text) is (order_groups == "in_turn") for text in shown)
    others = [call for call in calls(result) if call.stage != "history_taking.auxiliary"]
    assert not any("Physical examinations ordered:" in words(call) for call in others)


def test_both_orders_come_to_the_same_without_a_model_and_none_is_seen_without_sequence() -> None:
    in_turn, at_once, apart = run(), run(order_groups="side_by_side"), run(sequential=False)
    for name in ("physical_orders", "auxiliary_orders", "results"):
        assert in_turn[name] == at_once[name]
    assert not any("Physical examinations ordered:" in words(call) for call in calls(apart))
