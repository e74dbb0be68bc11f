from typing import Any

import pytest

from cases import ExaminationRecord, PatientRecord
from cases.vocabulary import AUXILIARY_ITEMS
from graphs import history_taking
from nodes.consultation.doctor import DoctorTurn
from nodes.patients.medchain import PatientReply
from nodes.state.decisions import AuxiliaryOrders, PhysicalOrders
from nodes.workflow.general_agent import Proposal
from tests.graphs.scripting import asked_of, calls, findings, most_at_once, script, seats, words
from tests.support.fake_server import ChatRequest, FakeServer

GRAPH: Any = history_taking.graph
PATIENT = PatientRecord(
    chief_complaint="A cough for two weeks.",
    present_illness="It began after a cold. It is worse at night. There was no blood.",
    past_history="Asthma as a child.",
)
EXAMINATIONS = ExaminationRecord(
    physical={"Chest Examination": "Crackles on the left."},
    auxiliary={"X-ray": "Shadow at the left base.", "Blood Test": "CRP 60 mg/L.", "CT": "Never ordered here."},
)


def start() -> dict[str, Any]:
    return findings(patient_record=PATIENT, examination_record=EXAMINATIONS, picture_folder="")


def run(**context: Any) -> dict[str, Any]:
    settings: Any = {"retrieval": False, "general_agents": 1, "feedback": "off", **context}
    result: dict[str, Any] = GRAPH.invoke(start(), context=settings)
    return result


def finishing_at(turn: int, text: str = "How is it?") -> Any:
    """A doctor who concludes at the given turn."""

    def rule(view: Any) -> DoctorTurn:
        asked = sum(each.speaker == "doctor" for each in view.chart.dialogue)
        return DoctorTurn(text=f"{text} ({asked + 1})", finished=asked + 1 >= turn)

    return rule


def ordering(*items: str) -> Any:
    """General agents who order these items, each group those of its list."""

    def rule(view: Any) -> Proposal[Any]:
        kind = view.stage.decision
        assert kind in (PhysicalOrders, AuxiliaryOrders)
        return Proposal(
            decision=kind(items=[item for item in items if item in view.options.names]), reasoning="as scripted"
        )

    return rule


def speakers(result: dict[str, Any]) -> str:
    return "".join(turn.speaker[0] for turn in result["dialogue"])


def test_a_dialogue_ends_concluded_when_the_doctor_has_no_more_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "doctor", finishing_at(3))
    result = run()
    assert (result["dialogue_ended"], speakers(result)) == ("concluded", "dpdpd")
    assert (len(calls(result, "doctor")), len(calls(result, "patient"))) == (3, 2)


@pytest.mark.parametrize("turns", [1, 4])
def test_a_dialogue_ends_at_its_limit_of_turns_when_the_doctor_never_concludes(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "doctor", finishing_at(99))
    result = run(max_turns=turns)
    assert (result["dialogue_ended"], speakers(result)) == ("turn_limit", "dp" * (turns - 1) + "d")


def test_a_doctor_who_concludes_in_the_very_last_turn_has_concluded(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "doctor", finishing_at(4))
    assert run(max_turns=4)["dialogue_ended"] == "concluded"


def test_the_doctor_is_told_how_many_turns_are_left_and_hears_every_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "doctor", finishing_at(99))
    script(monkeypatch, "patient", lambda view: PatientReply(text=f"Reply {len(view.dialogue) // 2 + 1}."))
    asked = calls(run(max_turns=3), "doctor")
    for turn, call in enumerate(asked):
        left = "does not reply any more" if turn == 2 else f"{3 - turn} more time"
        assert left in words(call)
        assert [f"Reply {number}." in words(call) for number in (1, 2, 3)] == [number <= turn for number in (1, 2, 3)]


def test_the_patient_is_asked_the_last_question_and_shown_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "doctor", finishing_at(3))
    for turn, call in enumerate(calls(run(), "patient"), start=1):
        assert words(call).rstrip().endswith("Your answer:")
        assert f"How is it? ({turn})" in words(call).split("The doctor says:")[1]
        assert "Asthma as a child." in words(call)
        assert not any(result in words(call) for result in EXAMINATIONS.results.values())


def test_results_that_the_patient_was_told_have_their_names_in_the_language_of_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "doctor", finishing_at(2, "How is your blood test?"))
    context: Any = {"retrieval": False, "general_agents": 1, "feedback": "off", "language": "zh"}
    result: dict[str, Any] = GRAPH.invoke({**start(), "told_results": {"Blood Test": "CRP 60 mg/L."}}, context=context)
    (asked,) = calls(result, "patient")
    assert "血液学检查" in words(asked) and "Blood Test" not in words(asked)
    assert result["dialogue"][1].text == "CRP 60 mg/L."


def test_without_interaction_neither_doctor_nor_patient_is_asked() -> None:
    result = run(interactive=False)
    assert calls(result, "doctor") == calls(result, "patient") == []
    assert not result.get("dialogue")
    assert {call.stage for call in calls(result)} == {"history_taking.physical", "history_taking.auxiliary"}


def test_what_the_group_orders_is_given_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", ordering("Chest Examination", "Neck Examination", "X-ray"))
    result = run()
    assert result["physical_orders"] == ["Chest Examination", "Neck Examination"]
    assert result["auxiliary_orders"] == ["X-ray"]
    assert result["results"] == {"Chest Examination": "Crackles on the left.", "X-ray": "Shadow at the left base."}
    assert calls(result, "extraction") == []


def test_orders_from_the_dialogue_are_what_the_extraction_agent_finds_and_no_group_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, "doctor", finishing_at(2, "I should like an X-ray and a blood test, and a chest examination"))
    result = run(orders="dialogue")
    assert {call.role for call in calls(result)} == {"doctor", "patient", "extraction"}
    [extraction] = calls(result, "extraction")
    assert "I should like an X-ray" in words(extraction)
    assert result["auxiliary_orders"] == [item for item in AUXILIARY_ITEMS.names if item in ("X-ray", "Blood Test")]
    assert set(result["results"]) == {"X-ray", "Blood Test", "Chest Examination"}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("language", "question", "left_out"),
    [("en", "Have you already had an X-ray?", "asked about as already done"), ("zh", "做过X线片吗？", "以前是否做过")],
)
def test_an_examination_that_the_doctor_asks_about_counts_as_ordered_only_where_the_patient_tells_results(
    told: bool, language: str, question: str, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in MedChain, A.2.2, whose patient knows the results: items that the doctor inquires about or suggests."""
    script(monkeypatch, "doctor", finishing_at(2, question))
    result = run(orders="dialogue", results_in_dialogue=told, language=language)
    [extraction] = calls(result, "extraction")
    assert (left_out in words(extraction)) == (not told)
    assert result["auxiliary_orders"] == (["X-ray"] if told else [])


def test_orders_are_extracted_from_the_dialogue_while_its_symptoms_are_described() -> None:
    with FakeServer(latency=0.2) as server:
        models = {role: f"openai:{role}@{server.base_url}" for role in ("extraction", "refiner")}
        result = run(orders="dialogue", retrieval=True, models=models)
    assert len(server.requests) == server.max_in_flight == 2
    assert result["symptoms"] and "auxiliary_orders" in result


def test_only_where_orders_come_from_the_dialogue_is_the_doctor_told_to_name_examinations() -> None:
    for orders in ("group", "dialogue"):
        told = ["which examinations you want done" in words(call) for call in calls(run(orders=orders), "doctor")]
        assert told == [orders == "dialogue"] * len(told) and told


def test_orders_from_a_dialogue_that_is_not_held_are_refused_before_the_first_call() -> None:
    with pytest.raises(ValueError, match="no orders to extract"):
        run(orders="dialogue", interactive=False)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_groups_for_physical_and_auxiliary_orders_work_side_by_side_if_asked_to(how: str) -> None:
    context: Any = {"retrieval": False, "interactive": False, "discussion_rounds": 1, "feedback": "off"}
    context["order_groups"] = "side_by_side"
    with FakeServer(latency=0.4) as server:
        context["models"] = seats(server)
        if how == "invoke":
            GRAPH.invoke(start(), context=context)
        else:
            await GRAPH.ainvoke(start(), context=context)
    assert server.max_in_flight >= 2 * 3
    assert most_at_once(asked_of(server, "summarizing")) == 2


def test_an_interview_over_a_server_is_held_turn_by_turn() -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        if request.model == "doctor":
            asked = len(asked_of(server, "doctor"))
            return {"text": f"How is it since {asked} o'clock?", "finished": asked == 3}
        return {"text": "It hurts."} if request.model == "patient" else None

    with FakeServer(answer=answer) as server:
        result = run(models=seats(server))
    assert speakers(result) == "dpdpd"
    assert [request.model for request in server.requests[:5]] == ["doctor", "patient", "doctor", "patient", "doctor"]
    assert server.requests[4].text.count("It hurts.") == 2
