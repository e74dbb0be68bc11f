"""A group goes on without a seat whose answer cannot be read; the last seat cannot be dropped."""

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from graphs import dispute_resolution, one_step
from graphs.decision import decision_by
from llm import AnswerError
from nodes.collaboration import director, intern
from nodes.consultation import final_report
from nodes.strategies import domain_expert, group_member
from nodes.workflow import case_retrieval, feedback_agent, general_agent, summarizing_agent
from nodes.workflow.stages import STAGES
from tests.graphs.scripting import builtin, calls, findings, object_always, script, words

Silent = Callable[[Any], bool]


def silence(patch: pytest.MonkeyPatch, module: ModuleType, name: str, whom: Silent) -> None:
    """Let a role give no readable answer where its view is of a seat to be silenced."""
    role = getattr(module, name)

    def rule(view: Any) -> Any:
        if whom(view):
            raise AnswerError("mumbling")
        return role.offline(view)

    patch.setattr(module, name, dataclasses.replace(role, offline=rule))


def decide(strategy: str, **context: Any) -> dict[str, Any]:
    start = findings(results={"CT": "A nodule of 8 mm in the left lung.", "Blood Test": "Normal."})
    graph: Any = decision_by(strategy, STAGES["diagnosis"])
    result: dict[str, Any] = graph.invoke(start, context={"retrieval": False, **context})
    return result


def disagree(patch: pytest.MonkeyPatch) -> None:
    """Let the members of a group propose different diseases, so that they talk."""
    role = group_member.proposer

    def rule(view: Any) -> Any:
        said = role.offline(view)
        own = said.decision.model_copy(update={"names": [f"Disease {view.seat}"]})
        return said.model_copy(update={"decision": own})

    patch.setattr(group_member, "proposer", dataclasses.replace(role, offline=rule))


def dropped(result: dict[str, Any]) -> list[str]:
    events = [event for event in result["trace"].events if event.event == "dropped_seat"]
    assert all(event.id == f"{event.content['call']}/dropped" for event in events)
    return [event.content["call"] for event in events]


def second(view: Any) -> bool:
    return bool(view.seat == 2)


def everybody(view: Any) -> bool:
    return True


def test_a_group_of_three_goes_on_with_two_and_the_trace_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    silence(monkeypatch, general_agent, "general_agent", second)
    result = decide("group")
    assert result["diagnosis"].names and [record.ended for record in result["decisions"]] == ["agreed"]
    assert dropped(result)[:2] == [f"diagnosis/general/discussion{spoken}/seat2" for spoken in (0, 1)]
    (summary,) = calls(result, "summarizing")[:1]
    assert "doctor 1" in words(summary).lower() and "doctor 2" not in words(summary).lower()
    assert next(call.error for call in calls(result, "general", place="seat2")) == "unparseable_answer: mumbling"


def test_a_judge_who_cannot_be_read_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    silence(monkeypatch, feedback_agent, "feedback_agent", lambda view: view.judge == "examination")
    graph: Any = decision_by("group", STAGES["history_taking.physical"])
    result = graph.invoke(findings(), context={"retrieval": False})
    (record,) = result["decisions"]
    assert {item.judge for each in record.rounds for item in each.judgements} == {"diagnosis", "treatment"}
    assert dropped(result)[0] == "history_taking.physical/feedback/round0/examination"


@pytest.mark.parametrize(
    ("strategy", "module", "role"),
    [
        ("group", general_agent, "general_agent"),
        ("group", feedback_agent, "feedback_agent"),
        ("medagents", domain_expert, "analyst"),
        ("medagents", domain_expert, "voter"),
        ("mdagents", group_member, "proposer"),
        ("dispute_resolution", intern, "intern"),
    ],
)
def test_the_last_seat_cannot_be_dropped(
    strategy: str, module: ModuleType, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_moderate(monkeypatch)
    silence(monkeypatch, module, role, everybody)
    with pytest.raises(AnswerError, match="the last seat cannot be dropped: mumbling"):
        decide(strategy)


@pytest.mark.parametrize(
    ("strategy", "module", "role"),
    [
        ("medagents", domain_expert, "analyst"),
        ("medagents", domain_expert, "voter"),
        ("mdagents", group_member, "proposer"),
        ("mdagents", group_member, "talker"),
    ],
)
def test_experts_go_on_without_one_of_them(
    strategy: str, module: ModuleType, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_moderate(monkeypatch)
    disagree(monkeypatch)
    silence(monkeypatch, module, role, second)
    result = decide(strategy)
    assert result["diagnosis"].names and dropped(result)


@pytest.mark.parametrize("turn_taking", [False, True])
def test_an_intern_whose_revision_cannot_be_read_holds_the_last_report(
    turn_taking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispute = director.Disputes.model_validate({"disputes": [{"part": "diagnosis", "point": "this or that"}]})
    disputes = dataclasses.replace(director.director_of_disputes, offline=lambda view: dispute)
    monkeypatch.setattr(director, "director_of_disputes", disputes)
    silence(monkeypatch, intern, "intern", lambda view: view.seat == 2 and view.own is not None)
    result = decide("dispute_resolution", turn_taking=turn_taking, max_rounds=2, feedback="off")
    (record,) = result["decisions"]
    held = [each.decision.get("intern2") for each in record.rounds]
    assert len(held) == 3 and all(report == held[0] for report in held) and dropped(result)


def test_where_the_senior_doctor_cannot_be_read_the_first_doctor_s_view_stands_and_then_the_last_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "feedback", object_always)
    silence(monkeypatch, summarizing_agent, "summarizing_agent", everybody)
    result = decide("group", max_feedback_rounds=1)
    (record,) = result["decisions"]
    first = next(call for call in calls(result, "general") if call.id.endswith("discussion1/seat1"))
    assert [each.decision for each in record.rounds] == [first.answer["decision"]] * 2
    assert dropped(result) == [f"diagnosis/summarizing/round{round_}" for round_ in (0, 1)]
    with pytest.raises(AnswerError, match="mumbling"):
        decide("group", on_unreadable="fail_case")


def test_without_a_description_of_the_symptoms_cases_are_looked_for_by_the_patient_s_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silence(monkeypatch, case_retrieval, "refiner", everybody)
    case = builtin("surgery-06")
    graph: Any = one_step
    result = graph.invoke({"case": case})
    (recalled,) = (event for event in result["trace"].events if event.event == "recalled")
    assert case.patient.chief_complaint in recalled.content["symptoms"] and dropped(result)


def test_interns_exchange_their_facts_without_one_whose_report_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    silence(monkeypatch, final_report, "reporter", lambda view: view.seat == 1)
    graph: Any = dispute_resolution
    result = graph.invoke(
        {"case": builtin("surgery-06")}, context={"retrieval": False, "max_turns": 3, "max_rounds": 1}
    )
    assert result["report"].diagnosis and [one.seat for one in result["consultations"]] == [2, 3]
    assert dropped(result) == ["intern1/report/doctor"]


@pytest.mark.parametrize("strategy", ["group", "dispute_resolution"])
def test_a_case_fails_with_its_seat_where_that_is_set(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silence(monkeypatch, general_agent, "general_agent", second)
    silence(monkeypatch, intern, "intern", second)
    with pytest.raises(AnswerError, match="mumbling"):
        decide(strategy, on_unreadable="fail_case")


def force_moderate(patch: pytest.MonkeyPatch) -> None:
    """Let MDAgents find a case that a group of experts decides."""
    from nodes.strategies import moderator

    check = moderator.ComplexityCheck(reason="", complexity="moderate")
    patch.setattr(
        moderator, "complexity_check", dataclasses.replace(moderator.complexity_check, offline=lambda view: check)
    )
