"""A prompt that will not fit is shortened by one rule, which the record tells, or ends its case as what it is."""

import re
from itertools import count
from typing import Any

import pytest

from graphs import clinical_workflow, consultation
from llm import ModelSettings
from llm.context_window import RECALLED, TURNS, fitted, tokens
from nodes.state.chart import EarlierTurns, Turn
from nodes.state.stage import Recalled
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import asked_of, builtin, calls, raw, seats
from tests.llm.examinee import View, fail, spec
from tests.support.fake_server import ChatRequest, FakeServer, Fault

SHORT = {"general_agents": 1, "discussion_rounds": 1, "feedback": "off", "max_turns": 6}
WORDS = " ".join(f"On day {day} it hurt more than on day {day - 1}." for day in range(30))
ASKED = count(1)  # who says the same again is asked once more


def talkative(request: ChatRequest) -> Any:
    if request.name == "DoctorTurn":
        return {"text": f"And what else, on day {next(ASKED)}?", "finished": False}
    return {"text": WORDS} if request.name == "PatientReply" else None


def longer_than(most: int) -> Any:
    """Refuses prompts of a doctor of more tokens."""

    def refused(request: ChatRequest) -> Fault | None:
        return "too_long" if request.model == "doctor" and tokens(raw(request)) > most else None

    return refused


@pytest.mark.slow
@pytest.mark.parametrize("case_id", ["surgery-01", "surgery-06"])
@pytest.mark.parametrize("known", [True, False])
def test_recalled_cases_go_first_and_then_the_oldest_turns_be_the_length_known_or_found_out(
    case_id: str, known: bool
) -> None:
    case, most = builtin(case_id), 1500
    with FakeServer(answer=talkative, faults=() if known else longer_than(most)) as server:
        models, block = seats(server), {}
        if known:
            block = {"doctor": {"spec": models["doctor"], "context_length": most, "max_tokens": 100}}
            models["doctor"] = "doctor"
        result = clinical_workflow.invoke({"case": case}, context={"models": models, "model": block, **SHORT})
    asked = [call for call in calls(result, "doctor") if "/turn" in call.id]
    assert len(asked) == 6 and [call.error for call in asked] == [None] * 6
    assert not asked[0].left_out and asked[-1].left_out[RECALLED] == 3 and asked[-1].left_out[TURNS] >= 1
    assert all(RECALLED in call.left_out for call in asked if TURNS in call.left_out)
    taken = [request for request in asked_of(server, "doctor") if request.status == 200]
    assert all(tokens(raw(request)) <= most for request in taken)
    last = raw(taken[-1])
    assert "its beginning is left out" in last or "开头部分从略" in last
    assert case.patient.chief_complaint in last


def test_a_conversation_in_plain_words_forgets_its_oldest_turns_and_keeps_its_last() -> None:
    most = 1200

    def asking(request: ChatRequest) -> Any:
        if request.name == "ExtractedOrders":  # no picture, which is longer than any dialogue
            return {"physical": [], "auxiliary": []}
        return "And what else?" if request.model == "doctor" and request.schema is None else talkative(request)

    with FakeServer(answer=asking, faults=longer_than(most)) as server:
        models = {role: seats(server)[role] for role in ("doctor", "patient", "extraction", "refiner")}
        context = {"models": models, "plain_words": True, "max_turns": 6}
        result = consultation.invoke({"case": builtin("surgery-01")}, context=context)
    asked = [call for call in calls(result, "doctor") if "/turn" in call.id]
    assert [call.error for call in asked] == [None] * len(asked)
    assert asked[-1].left_out.keys() == {TURNS}
    taken = [request for request in asked_of(server, "doctor") if request.status == 200]
    assert all(tokens(raw(request)) <= most for request in taken)
    assert "On day 29" in str(taken[-2].messages[-1])


async def test_what_cannot_be_shortened_ends_as_context_length_and_is_not_sent_where_the_length_is_known() -> None:
    with FakeServer() as server:
        block = {"tiny": {"spec": spec(server), "context_length": 50}}
        told, call = await fail(
            ModelSettings.model_validate({"models": {"default": "tiny"}, "model": block}), Exception
        )
    assert "can read 50 at most" in told and call.attempts == 0 and not server.requests
    assert (call.error or "").startswith("context_length: ")


@pytest.mark.slow
def test_a_prompt_that_leaves_no_room_for_the_answer_is_shortened_like_one_that_does_not_fit() -> None:
    """llama.cpp's server takes such a prompt, and breaks off the answer once its context is full."""

    def broken_off(request: ChatRequest) -> Fault | None:
        return "cut_json" if request.model == "doctor" and "Other patients" in raw(request) else None

    with FakeServer(answer=talkative, faults=broken_off) as server:
        context = {"models": {"doctor": seats(server)["doctor"]}, "max_tokens": 500, "max_turns": 2, "repairs": 1}
        result = consultation.invoke({"case": builtin("surgery-01")}, context=context)
    asked = calls(result, "doctor")
    assert [call.error for call in asked] == [None] * len(asked)
    assert asked[0].left_out == {RECALLED: 3} and asked[0].attempts >= 3


@pytest.mark.parametrize("max_tokens", [500, None])
async def test_an_answer_that_never_has_room_ends_as_context_length(max_tokens: int | None) -> None:
    with FakeServer(faults=["cut_json"] * 9) as server:
        settings = ModelSettings(models={"default": spec(server)}, max_tokens=max_tokens)
        told, call = await fail(settings, Exception)
    reason, said = ("context_length", "too little room") if max_tokens else ("unparseable_answer", "raise max_tokens")
    assert (call.error or "").startswith(f"{reason}: ") and said in told


def test_only_what_may_be_left_out_is() -> None:
    view = View("A long report. " * 99)
    assert fitted(view, lambda view: tokens(view.report), 10) == (view, {})
    turns = EarlierTurns([Turn(speaker="doctor", text="Why?")])
    assert turns.shorter() == [] and EarlierTurns().shorter() is None
    assert Recalled([], ("symptoms",), "en").shorter() is None


def test_of_recalled_cases_the_least_similar_is_left_out_first_and_alone() -> None:
    near = [Neighbour(RememberedCase(id=name, verified=True), 0.9) for name in "abc"]
    shown = Recalled(near, ("symptoms",), "en").shorter()
    assert shown is not None and [each.case.id for each in shown] == ["a", "b"]


@pytest.mark.parametrize("case_id", ["surgery-01", "surgery-06"])
def test_a_doctor_who_tells_another_patients_case_as_this_ones_speaks_anew_without_having_read_of_it(
    case_id: str,
) -> None:
    asked = ["And what else did you feel?", "And before that?"]
    left = iter(asked)

    def told(request: ChatRequest) -> Any:
        if request.name != "DoctorTurn":
            return None
        others = re.search("earlier cases, other patients|其他患者", raw(request))
        return {"text": raw(request)[others.end() + 20 :][:200] if others else next(left), "finished": False}

    with FakeServer(answer=told) as server:
        models = {role: seats(server)[role] for role in ("doctor", "patient", "extraction", "refiner")}
        result = consultation.invoke({"case": builtin(case_id)}, context={"models": models, "max_turns": 2})
    turns = [call for call in calls(result, "doctor") if "/turn" in call.id]
    assert [call.answer for call in turns] == [{"text": text, "finished": False} for text in asked]
    assert all(call.left_out[RECALLED] == 3 and call.repaired and call.attempts == 2 for call in turns)
