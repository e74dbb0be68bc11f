from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

import graphs.patients  # noqa: F401 - registers who may be named
from nodes.context import Context
from nodes.patients.medpmc.actor import ActorState, act, persona_of
from nodes.state.chart import Presentation, Turn
from tests.support.fake_server import ChatRequest, FakeServer

PLAIN = "She has had a fever of 39.5 °C for 3 days, no cough."
GOOD = "Oh doctor, I've been burning, sorry, a fever of 39.5 degrees for three days, and no cough."
FAITHFUL = "Well, doctor, a fever of 39.5 degrees it is, three days now, and no cough."
BAD = "Well, doctor, a fever of 40 degrees it is, and a cough."


class Alone(ActorState, total=False):
    trace: Any


builder = StateGraph(Alone, context_schema=Context)
builder.add_node(act)
builder.add_edge(START, "act")
builder.add_edge("act", END)
GRAPH: Any = builder.compile()


def said(answer: Callable[[ChatRequest], Any] | None = None, plain: str = PLAIN, **context: Any) -> Any:
    """The turn after the actor, its call, and the requests that the server got."""
    state = {
        "presentation": Presentation(language="en", sex="female", occupation="Farmer", chief_complaint="A fever."),
        "dialogue": [Turn(speaker="doctor", text="What is it?"), Turn(speaker="patient", text=plain, facts=["F."])],
    }
    if answer is None:
        result = GRAPH.invoke(state, context=context)
        return result["dialogue"][-1], result["trace"].calls[0], []
    with FakeServer(answer=answer) as server:
        models = {"actor": f"openai:any@{server.base_url}"}
        result = GRAPH.invoke(state, context={"models": models, **context})
    return result["dialogue"][-1], result["trace"].calls[0], server.requests


def test_offline_the_plain_words_are_kept_inside_the_manner_and_beside_it() -> None:
    turn, call, _ = said()
    assert PLAIN in turn.text and turn.text != PLAIN
    assert (turn.plain, turn.facts, turn.speaker) == (PLAIN, ["F."], "patient")
    assert call.error is None and call.answer == {"text": turn.text}


@pytest.mark.slow
def test_a_rewriting_that_keeps_the_facts_is_said() -> None:
    turn, call, requests = said(lambda request: {"text": FAITHFUL})
    assert (turn.text, turn.plain, call.error, len(requests)) == (FAITHFUL, PLAIN, None, 1)


def test_a_refused_rewriting_is_repaired_once_with_what_was_wrong() -> None:
    turn, call, requests = said(lambda request: {"text": FAITHFUL if len(request.messages) > 2 else BAD})
    assert (turn.text, call.repaired, call.error) == (FAITHFUL, True, None)
    assert "39.5 degrees" in requests[1].messages[-1]["content"] and "40 degrees" in requests[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("rewriting", "named"),
    [
        (BAD, "no cough"),
        (GOOD, "burning"),
        (PLAIN.replace("39.5", "38.5"), "39.5 degrees"),
        (PLAIN.replace("no cough", "no chills"), "cough"),
        (PLAIN + " Penicillin helped.", "penicillin"),
        ("I do not know.", "fever"),
    ],
)
def test_a_rewriting_that_never_keeps_the_facts_gives_way_to_the_plain_words_and_the_trace_says_so(
    rewriting: str, named: str
) -> None:
    turn, call, requests = said(lambda request: {"text": rewriting})
    assert (turn.text, turn.plain, len(requests)) == (PLAIN, PLAIN, 4)
    assert call.role == "actor" and "the facts are not those of the plain words" in call.error and named in call.error


def test_what_a_rewriting_lost_is_told_in_chinese() -> None:
    plain = "发热3天，没有咳嗽。"
    _, call, requests = said(lambda request: {"text": "发热3天了。"}, plain, language="zh")
    assert call.error and "事实与原话不符（缺少：一处否认、无咳）" in requests[1].messages[-1]["content"]


def test_an_answer_that_is_none_gives_way_to_the_plain_words_too() -> None:
    turn, call, _ = said(lambda request: '{"text": "A feve')
    assert turn.text == turn.plain == PLAIN
    assert call.error.startswith("unparseable_answer")


def test_plain_words_are_the_actors_and_held_to_the_facts_too() -> None:
    assert said(lambda request: FAITHFUL)[0].text == FAITHFUL
    assert said(lambda request: BAD)[0].text == PLAIN


def test_the_actor_is_shown_the_persona_and_the_plain_words_and_no_more() -> None:
    _, _, requests = said(lambda request: {"text": FAITHFUL}, patient_profession="doctor", patient="medpmc")
    assert "You are a woman." in requests[0].text and "You are a doctor yourself." in requests[0].text
    assert PLAIN in requests[0].text and "What is it?" not in requests[0].text and "A fever." not in requests[0].text


def test_the_persona_is_set_or_follows_the_record() -> None:
    door = Presentation(language="zh", sex="male", occupation="会计", chief_complaint="咳嗽")
    assert persona_of(door, Context()).profession == "office_worker"
    assert persona_of(door, Context(patient="medpmc", patient_profession="student")).profession == "student"
    assert persona_of(door, Context()).sex == "male"


@pytest.mark.parametrize("length", ["within", "over"])
def test_a_rewriting_may_be_half_as_long_again_and_is_told_how_long(length: str) -> None:
    """Twelve words, of which no manner needs more than twelve besides."""
    most = len(PLAIN.split()) + 12
    room = most - len(FAITHFUL.split()) + (length == "over")
    text = f"{FAITHFUL} {' '.join(['well'] * room)}"
    turn, call, requests = said(lambda request: {"text": text})
    assert turn.text == (text if length == "within" else PLAIN)
    assert (call.error is None) == (length == "within")
    assert f"{most} words at most" in requests[0].text
    if length == "over":
        assert f"at most {most} are allowed" in requests[1].messages[-1]["content"]


def test_a_rewriting_may_be_no_longer_than_the_plain_words_where_that_is_set() -> None:
    published = {"patient": "medpmc", "rewriting": "no_longer"}
    assert len(FAITHFUL.split()) > len(PLAIN.split())
    turn, call, requests = said(lambda request: {"text": FAITHFUL}, **published)
    assert turn.text == PLAIN and f"at most {len(PLAIN.split())} are allowed" in call.error
    assert f"{len(PLAIN.split())} words at most" in requests[0].text
    assert said(lambda request: {"text": PLAIN}, **published)[1].error is None
