import asyncio
import base64
import gc
import json
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm import AnswerError, ModelError, ModelSettings, ModelSpecError, RefusedError, failed_requests, retries
from llm.build import build_model
from llm.chat import chat_client
from llm.forms import FormRefusedError, Forms
from llm.question import typed_question
from llm.retries import Patience
from llm.schema import answer_schema
from tests.llm.examinee import EXAMINEE, GOOD, OPINION, Opinion, fail, put, served, spec
from tests.support.fake_server import MODES, ChatRequest, FakeServer, Fault

# What a server may support, with the form that is found for it, as the server names it.
ABILITIES: list[tuple[Collection[str], str]] = [
    (("json_schema", "json_object", "tools", "text"), "json_schema"),
    (("json_object", "tools", "text"), "json_object"),
    (("tools", "text"), "tools"),
    (("text",), "text"),
]
in_every_form = pytest.mark.parametrize(("supports", "form"), ABILITIES, ids=[form for _, form in ABILITIES])
PICTURE = Path(__file__).parents[2] / "cases" / "builtin" / "images" / "surgery-01.png"


def good(request: ChatRequest) -> dict[str, Any]:
    return GOOD


def statuses(server: FakeServer) -> list[int | None]:
    return [request.status for request in server.requests]


# Forms of a typed answer


@in_every_form
async def test_any_server_gives_the_same_typed_answer(supports: Collection[str], form: str) -> None:
    with FakeServer(answer=good, supports=supports) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION
    assert server.requests[-1].mode == form
    assert call.attempts == len(server.requests) == [mode for _, mode in ABILITIES].index(form) + 1
    assert not call.repaired and call.error is None


@in_every_form
async def test_the_form_is_found_once_and_then_asked_for_at_once(supports: Collection[str], form: str) -> None:
    with FakeServer(supports=supports) as server:
        await put(served(server))
        negotiation = len(server.requests)
        for _ in range(3):
            _, call = await put(served(server))
            assert call.attempts == 1
    assert [request.mode for request in server.requests[negotiation:]] == [form] * 3


@in_every_form
async def test_the_model_is_shown_the_strict_schema_in_every_form(supports: Collection[str], form: str) -> None:
    with FakeServer(supports=supports) as server:
        await put(served(server), language="zh")
    request = server.requests[-1]
    assert request.schema == answer_schema(Opinion, "zh")
    assert request.name == ("Opinion" if form in ("json_schema", "tools") else form)
    if form == "json_schema":
        assert request.body["response_format"]["json_schema"]["strict"] is True


async def test_the_prepared_schema_is_left_as_it_was_by_its_use() -> None:
    before = json.dumps(answer_schema(Opinion, "en"))
    for supports, _ in ABILITIES:
        with FakeServer(supports=supports) as server:
            await put(served(server))
    assert json.dumps(answer_schema(Opinion, "en")) == before


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501, 503])
@in_every_form
async def test_a_form_is_refused_with_any_status_if_the_server_speaks_of_it(
    supports: Collection[str], form: str, status: int
) -> None:
    with FakeServer(answer=good, supports=supports, refuses_with=status) as server:
        opinion, _ = await put(served(server))
        _, call = await put(served(server))
    assert opinion == OPINION and server.requests[-1].mode == form
    assert call.attempts == 1 and len(server.requests) == [mode for _, mode in ABILITIES].index(form) + 2


async def test_a_500_that_says_nothing_is_taken_for_a_refusal_of_the_form_once_it_stays() -> None:
    with FakeServer(answer=good, faults=lambda request: "500" if request.mode == "json_schema" else None) as server:
        opinion, _ = await put(served(server))
        _, call = await put(served(server))
    assert opinion == OPINION and call.attempts == 1
    assert [request.mode for request in server.requests] == ["json_schema"] * 3 + ["json_object"] * 2


async def test_a_form_that_works_is_not_given_up_for_a_server_that_fails_for_a_while() -> None:
    with FakeServer(answer=good, faults=[None, *["500"] * 5]) as server:
        await put(served(server))
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.attempts == 6
    assert {request.mode for request in server.requests} == {"json_schema"}


async def test_a_spell_of_500s_that_hits_many_questions_at_once_refuses_no_form() -> None:
    with FakeServer(answer=good, faults=["500"] * 8) as server:
        await asyncio.gather(*(put(served(server)) for _ in range(8)))
    assert {request.mode for request in server.requests} == {"json_schema"}


async def test_a_schema_that_a_server_refuses_costs_other_questions_nothing() -> None:
    with FakeServer(answer=good) as server:
        await put(served(server))
        server.supports = frozenset({"json_object"})
        question: Any = await typed_question(EXAMINEE, None, "You judge.", "Well?", (), "en")
        client = chat_client(spec(server), served(server))
        for _ in range(2):
            await client.ask(replace(question, name="Other"), served(server), Patience(3))
        server.supports = frozenset(MODES)
        await put(served(server))
    modes = [request.mode for request in server.requests]
    assert modes == ["json_schema", "json_schema", "json_object", "json_object", "json_schema"]


@pytest.mark.parametrize(
    "said",
    [
        "{'message': 'Failed to generate JSON.', 'code': 'json_validate_failed'}",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ],
)
async def test_a_form_in_which_one_answer_failed_is_asked_for_again(said: str) -> None:
    failed = (400, said)
    with FakeServer(answer=good, refusal=lambda request: failed if request.index == 0 else None) as server:
        opinion, first = await put(served(server))
        _, second = await put(served(server))
    assert opinion == OPINION
    assert [request.mode for request in server.requests] == ["json_schema", "json_object", "json_schema"]
    assert (first.form, second.form) == ("json_object", "json_schema")  # on record


async def test_a_form_that_worked_for_an_answer_is_asked_for_again_after_a_single_refusal() -> None:
    failed = (400, "Provider returned error")
    with FakeServer(answer=good, refusal=lambda request: failed if request.index == 1 else None) as server:
        forms = [(await put(served(server)))[1].form for _ in range(3)]
    assert forms == ["json_schema", "json_object", "json_schema"]


@pytest.mark.parametrize(
    ("ignores", "modes"),
    [
        (["json_schema"], ["json_schema", "json_object", "json_object"]),
        (["json_schema", "json_object", "tools"], ["json_schema", "json_object", "json_object"]),  # which tells it too
    ],
)
async def test_a_form_that_is_passed_over_is_left_and_not_tried_again(ignores: list[str], modes: list[str]) -> None:
    with FakeServer(ignores=ignores) as server:
        _, first = await put(served(server))
        _, second = await put(served(server))
    assert [request.mode for request in server.requests] == modes
    assert (first.attempts, second.attempts) == (2, 1) and not first.repaired
    assert first.input_tokens > second.input_tokens  # what was passed over is paid too


async def test_prose_that_was_cut_off_shows_that_the_form_is_passed_over() -> None:
    with FakeServer(answer=lambda request: "Hello! " * 9, ignores=["json_schema"], faults=["cut_json"]) as server:
        await fail(served(server), AnswerError)
    assert [request.mode for request in server.requests][:2] == ["json_schema", "json_object"]


async def test_json_of_another_kind_is_repaired_and_shows_in_the_end_that_the_form_is_passed_over() -> None:
    def other_json(request: ChatRequest) -> Any:
        return GOOD if "JSON schema" in request.messages[-1]["content"] else {"note": "It is all fine."}

    with FakeServer(answer=other_json) as server:
        calls = [(await put(served(server)))[1] for _ in range(4)]
    assert [call.repaired for call in calls] == [True, True, False, False]
    assert server.requests[-1].mode == "json_object" and calls[-1].attempts == 1


@pytest.mark.parametrize("fault", ["cut_json", "refusal", "null_content"])
async def test_a_first_reply_that_shows_nothing_costs_no_form(fault: Fault) -> None:
    with FakeServer(answer=good, faults=[fault]) as server:
        await put(served(server))
        await put(served(server))
    assert {request.mode for request in server.requests} == {"json_schema"}


async def test_what_a_server_takes_is_known_to_all_event_loops_and_settings_and_only_for_its_model() -> None:
    with FakeServer(answer=good, supports=("text",)) as server:
        await put(served(server))
        await put(served(server, temperature=1.0))
        await asyncio.to_thread(lambda: asyncio.run(put(served(server))))
        known = len(server.requests)
        await put(ModelSettings(models={"default": f"openai:other@{server.base_url}"}))
    assert [request.mode for request in server.requests[3:known]] == ["text", "text", "text"]
    assert server.requests[known].mode == "json_schema"


async def test_a_server_that_checks_an_answer_and_calls_it_a_fault_of_its_own_is_asked_in_the_next_form() -> None:
    why = "Model output does not match the requested response format: Expecting value: line 1 column 1"  # ftllm 1.9

    def checked(request: ChatRequest) -> tuple[int, str] | None:
        return (500, why) if request.mode.startswith("json") else None

    with FakeServer(answer=good, refusal=checked) as server:
        opinion, _ = await put(served(server))
    assert opinion == OPINION and [one.mode for one in server.requests] == ["json_schema", "json_object", "tools"]


async def test_a_server_that_refuses_every_form_is_an_error_that_names_each_reason() -> None:
    with FakeServer(supports=()) as server:
        error, call = await fail(served(server), ModelError)
    assert "after 4 requests" in error and call.attempts == 4
    for reason in (
        "Input should be 'text' or 'json_object'",
        "'json_object' is not supported",
        "tool choice requires",
        "a plain completion is not supported",
    ):
        assert reason in error and reason in (call.error or "")


async def test_an_address_without_the_api_ends_the_run_and_says_what_an_address_looks_like() -> None:
    with FakeServer() as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}/nowhere"})
        error, call = await fail(settings, RefusedError)
    assert "/nowhere refuses all questions: nothing is served at this address; base URLs mostly end with /v1" in error
    assert "404" in error and call.attempts == 4  # one for each form


async def test_temperature_limits_and_seed_go_to_the_server() -> None:
    with FakeServer() as server:
        await put(served(server, temperature=0.3, seed=11, max_tokens=77))
    body = server.requests[0].body
    assert (body["model"], body["temperature"], body["seed"]) == ("any", 0.3, 11)
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 77


# Servers that are busy or failing


@pytest.mark.parametrize("fault", ["429", "500", "503", "disconnect", "empty_choice"])
async def test_a_passing_fault_is_waited_out_and_counted(fault: Fault) -> None:
    with FakeServer(answer=good, faults=[fault, fault]) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION
    assert len(server.requests) == call.attempts == 3
    assert not call.repaired


@pytest.mark.slow
async def test_a_request_without_an_answer_in_time_is_sent_again() -> None:
    with FakeServer(answer=good, faults=["timeout"], hold=20) as server:
        start = time.monotonic()
        opinion, call = await put(served(server, timeout=1.0))
    assert opinion == OPINION and call.attempts == 2
    assert 1.0 <= time.monotonic() - start < 10


async def test_after_each_time_out_a_request_may_take_longer_and_uses_up_as_many_attempts() -> None:
    with FakeServer(answer=good, latency=1.3) as server:
        opinion, call = await put(served(server, timeout=1.0, max_attempts=6))
    assert opinion == OPINION and call.attempts == 2
    with FakeServer(faults=["timeout"] * 9, hold=20) as server:
        error, call = await fail(served(server, timeout=0.1, max_attempts=6), ModelError)
    assert call.attempts == 3 and "after 3 requests" in error and "within 0.3 s" in error


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("500", "500"),
        ("503", "503"),
        ("disconnect", "Connection"),
        ("timeout", "no complete answer within 0.4 s; a higher timeout .* max_tokens ends a reply that goes on"),
        ("empty_choice", "has no choices"),
    ],
)
async def test_a_lasting_fault_ends_after_the_allowed_attempts_with_its_reason(fault: Fault, reason: str) -> None:
    with FakeServer(faults=[fault] * 9, retry_after=0.01, hold=20) as server:
        seconds = 0.4 if fault == "timeout" else 60
        error, call = await fail(served(server, max_attempts=2, timeout=seconds), ModelError)
    assert len(server.requests) == call.attempts == 2
    assert "after 2 requests" in error
    assert re.search(reason, error)


@in_every_form
async def test_a_server_that_stays_too_busy_is_asked_four_times_as_often_and_then_given_up(
    supports: Collection[str], form: str
) -> None:
    with FakeServer(faults=["429"] * 30, supports=supports, retry_after=0.01) as server:
        error, call = await fail(served(server, max_attempts=2), ModelError)
    assert statuses(server).count(429) == 8
    assert call.attempts == len(server.requests) and "429" in error


async def test_a_busy_spell_does_not_use_up_the_attempts_for_errors() -> None:
    with FakeServer(answer=good, faults=["429", "429", "500", "429"], retry_after=0.01) as server:
        opinion, call = await put(served(server, max_attempts=2))
    assert opinion == OPINION and call.attempts == 5


async def test_the_attempts_are_those_of_the_answer_and_not_of_each_form_of_asking() -> None:
    with FakeServer(faults=["500"] * 9, supports=("json_object", "text")) as server:
        first = chat_client(spec(server), served(server))
        patience = Patience(3)
        patience.failed(TimeoutError())  # as if the first form had met a fault before it was refused
        question: Any = await typed_question(EXAMINEE, None, "You judge.", "Well?", (), "en")
        with pytest.raises(ModelError, match="after 3 requests"):
            await first.ask(question, served(server), patience)
    assert statuses(server) == [400, 500, 500]


async def test_a_server_that_is_not_there_is_an_error_after_the_allowed_attempts() -> None:
    with FakeServer() as server:
        pass
    error, call = await fail(served(server, max_attempts=3), ModelError)
    assert "Connection" in error and call.attempts == 3


async def test_a_429_is_given_the_time_it_asks_for() -> None:
    with FakeServer(faults=["429", "429"], retry_after=0.3) as server:
        await put(served(server))
    first, second, third = server.requests
    assert statuses(server) == [429, 429, 200]
    assert second.time_in - (first.time_out or 0) >= 0.29
    assert third.time_in - (second.time_out or 0) >= 0.29


async def test_a_server_that_asks_for_an_hour_is_asked_again_after_the_longest_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failed_requests, "_LONGEST_WAIT", 0.2)
    with FakeServer(faults=["429"], retry_after=3600) as server:
        start = time.monotonic()
        async with asyncio.timeout(10):
            await put(served(server))
    assert time.monotonic() - start >= 0.2


async def test_our_own_waits_grow_with_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.1)
    with FakeServer(faults=[None, "500", "500", "500"]) as server:
        await put(served(server))  # the form works
        await put(served(server))
    pairs = zip(server.requests[1:], server.requests[2:], strict=False)
    gaps = [late.time_in - (early.time_out or 0) for early, late in pairs]
    assert all(gap >= least for gap, least in zip(gaps, (0.07, 0.14, 0.29), strict=True)), gaps


@pytest.mark.slow
async def test_an_answer_that_drips_in_is_cut_off_when_the_time_is_over() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    settings = ModelSettings(models={"default": f"openai:any@{url}"}, timeout=0.3, max_attempts=1)
    start = time.monotonic()
    error, _ = await fail(settings, ModelError)
    assert "Timeout" in error and time.monotonic() - start < 5
    server.close()


async def test_a_cancelled_call_ends_at_once_and_is_not_taken_for_a_fault() -> None:
    with FakeServer(latency=20) as server:
        task = asyncio.create_task(put(served(server)))
        while not server.requests:  # noqa: ASYNC110 - they are added by another thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
    assert len(server.requests) == 1


# Answers that are none


@in_every_form
@pytest.mark.parametrize("fault", ["cut_json", "schema_violation", "null_content", "refusal"])
async def test_a_bad_answer_is_repaired_once(supports: Collection[str], form: str, fault: Fault) -> None:
    with FakeServer(answer=good, supports=supports, faults=[fault]) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION
    assert call.repaired and call.attempts == len(server.requests)
    assert [request.status for request in server.requests[-2:]] == [200, 200]


@in_every_form
@pytest.mark.parametrize("fault", ["cut_json", "schema_violation", "null_content", "refusal"])
async def test_a_second_bad_answer_is_a_failure_and_never_a_guess(
    supports: Collection[str], form: str, fault: Fault
) -> None:
    with FakeServer(answer=good, supports=supports, faults=[fault] * 9) as server:
        error, call = await fail(served(server), AnswerError)
    assert "not a valid Opinion, even after a repair" in error
    assert call.error == f"unparseable_answer: {error}" and call.answer is None
    assert len([status for status in statuses(server) if status == 200]) == 2


def odd(times: int) -> Callable[[ChatRequest], tuple[int, str] | None]:
    """A server that refuses so many requests in the strictest form, with words that say nothing of it."""
    left = [(400, "Bad request")] * times

    def refusing(request: ChatRequest) -> tuple[int, str] | None:
        return left.pop() if left and request.mode == "json_schema" else None

    return refusing


async def test_after_a_first_odd_refusal_the_strictest_form_is_tried_once_more() -> None:
    with FakeServer(answer=lambda request: GOOD, refusal=odd(1)) as server:
        calls = [(await put(served(server)))[1] for _ in range(3)]
    assert [(call.form, call.attempts) for call in calls] == [
        ("json_object", 2),
        ("json_schema", 1),
        ("json_schema", 1),
    ]


async def test_odd_refusals_of_questions_put_at_once_are_one() -> None:
    with FakeServer(answer=lambda request: GOOD, refusal=odd(3)) as server:
        await asyncio.gather(*(put(served(server)) for _ in range(3)))
        _, call = await put(served(server))
    assert (call.form, call.attempts) == ("json_schema", 1)


async def test_a_form_that_is_refused_twice_in_odd_words_is_given_up() -> None:
    with FakeServer(answer=lambda request: GOOD, refusal=odd(9)) as server:
        calls = [(await put(served(server)))[1] for _ in range(4)]
    assert {call.form for call in calls} == {"json_object"} and [call.attempts for call in calls] == [2, 2, 1, 1]


async def test_a_refusal_that_speaks_of_the_form_is_not_tried_again() -> None:
    with FakeServer(answer=lambda request: GOOD, supports=("json_object", "text")) as server:
        calls = [(await put(served(server)))[1] for _ in range(2)]
    assert [call.attempts for call in calls] == [2, 1]


@pytest.mark.parametrize("form", ["tools", "json_object"])
async def test_an_empty_object_is_asked_for_in_another_form_at_once(form: str) -> None:
    """Two of three questions were lost: each repair was a call without arguments, too."""

    def answer(request: ChatRequest) -> Any:
        return {} if request.mode == form else GOOD

    with FakeServer(answer=answer, supports=(form, "text")) as server:
        asked = [await put(served(server)) for _ in range(3)]
    assert all(opinion == OPINION and not call.repaired for opinion, call in asked)
    assert {call.form for _, call in asked} == {"text"} and [call.attempts for _, call in asked] == [4, 1, 1]


async def test_an_empty_object_from_a_form_that_has_worked_changes_this_answer_alone() -> None:
    replies: list[dict[str, Any]] = [GOOD, {}, GOOD, GOOD]
    with FakeServer(answer=lambda request: replies.pop(0)) as server:
        calls = [(await put(served(server)))[1] for _ in range(3)]
    assert [(call.form, call.attempts) for call in calls] == [
        ("json_schema", 1),
        ("json_object", 2),
        ("json_schema", 1),
    ]


@in_every_form
async def test_the_repair_quotes_the_answer_and_what_is_wrong_with_it(supports: Collection[str], form: str) -> None:
    wrong = {**GOOD, "accepted": "perhaps", "reason": None}
    replies = iter([wrong, GOOD])
    with FakeServer(answer=lambda request: next(replies), supports=supports) as server:
        await put(served(server))
    asked, repair = server.requests[-2:]
    *before, answer, complaint = repair.messages
    assert [message["role"] for message in repair.messages] == ["system", "user", "assistant", "user"]
    assert before[0] == asked.messages[0]
    assert json.loads(answer["content"]) == wrong
    assert "accepted: expected true or false" in complaint["content"]
    assert "reason: Input should be a valid string" in complaint["content"]
    assert "department:" not in complaint["content"].split("```")[0]


@in_every_form
async def test_the_repair_of_a_cut_answer_says_where_it_broke_off(supports: Collection[str], form: str) -> None:
    with FakeServer(answer=good, supports=supports, faults=["cut_json"]) as server:
        await put(served(server))
    answer = server.requests[-1].messages[-2]["content"]
    assert len(answer) > 10 and json.dumps(GOOD).startswith(answer)
    assert "Expecting" in server.requests[-1].text or "Unterminated string" in server.requests[-1].text


async def test_a_refusal_is_told_in_the_models_own_words() -> None:
    with FakeServer(faults=["refusal", "refusal"]) as server:
        error, _ = await fail(served(server), AnswerError)
    assert "I'm sorry, I can't help with that." in error


async def test_a_server_that_fails_at_the_repair_is_a_model_error_with_all_requests_counted() -> None:
    with FakeServer(answer=good, faults=["429", "cut_json", "500", "500"]) as server:
        _, call = await fail(served(server, max_attempts=2), ModelError)
    assert call.attempts == len(server.requests) == 4
    assert call.repaired and call.input_tokens > 0


@in_every_form
async def test_an_answer_in_prose_and_a_fence_is_accepted_as_it_is(supports: Collection[str], form: str) -> None:
    with FakeServer(answer=good, supports=supports, faults=["chatter"]) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and not call.repaired


async def test_a_term_outside_the_vocabulary_is_repaired_with_the_terms_named() -> None:
    replies = iter([{**GOOD, "department": "Astrology"}, GOOD])
    with FakeServer(answer=lambda request: next(replies)) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.repaired
    assert "'Astrology' is not in the vocabulary" in server.requests[1].text
    assert "Internal Medicine" in server.requests[1].text


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_chinese_term_is_accepted_and_kept_under_its_canonical_name(language: Any) -> None:
    with FakeServer(answer=lambda request: {**GOOD, "department": "内科"}) as server:
        opinion, call = await put(served(server), language=language)
    assert opinion == OPINION and call.answer["department"] == "Internal Medicine"
    assert len(server.requests) == 1


# Keys, pictures, and what leaves the machine


KEYS = {"OPENAI_API_KEY": "sk-of-openai-itself", "OPENAI_ADMIN_KEY": "sk-of-the-admin"}


async def test_a_server_by_url_never_sees_the_providers_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with FakeServer() as server:
        await put(served(server))
    sent = json.dumps([dict(server.requests[0].headers), server.requests[0].body])
    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert not any(key in sent for key in KEYS.values())


ACCOUNT = {
    "OPENAI_ORG_ID": "org-of-the-user",
    "OPENAI_ORGANIZATION": "org-of-the-user",
    "OPENAI_PROJECT_ID": "project-of-the-user",
    "OPENAI_CUSTOM_HEADERS": "X-Billing: account-of-the-user\nAuthorization: Bearer sk-of-the-user",
}


async def test_a_server_by_url_never_learns_whose_account_the_user_has_at_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    with FakeServer() as server:
        await put(served(server))
    sent = json.dumps(dict(server.requests[0].headers))
    assert "of-the-user" not in sent and server.requests[0].headers["authorization"] == "Bearer none"


def test_openai_itself_is_told_the_users_organization_and_project(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ACCOUNT, **KEYS}.items():
        monkeypatch.setenv(name, value)
    model: Any = build_model("openai:gpt-4o-mini", ModelSettings())
    sent = model.root_async_client.default_headers
    assert (sent["OpenAI-Organization"], sent["OpenAI-Project"]) == ("org-of-the-user", "project-of-the-user")


@pytest.mark.parametrize("provider", ["anthropic", "deepseek", "groq", "openai"])
@pytest.mark.parametrize(("own", "sent"), [("key-of-the-ward", "key-of-the-ward"), ("", "none"), (None, "none")])
def test_a_server_by_url_is_given_a_key_whatever_the_provider_so_that_none_is_taken_from_the_shell(
    monkeypatch: pytest.MonkeyPatch, provider: str, own: str | None, sent: str
) -> None:
    if own is not None:
        monkeypatch.setenv("WARDROUND_API_KEY", own)
    options: dict[str, Any] = {}
    for built in ("langchain.chat_models.init_chat_model", "llm.chat_openai.ChatOpenAI"):
        monkeypatch.setattr(built, lambda *name, **given: options.update(given))
    build_model(f"{provider}:any@https://host/v1", ModelSettings())
    assert (options["base_url"], options["api_key"]) == ("https://host/v1", sent)


def test_the_providers_own_service_gets_its_own_key_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-the-ward")
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    model: Any = build_model("openai:gpt-4o-mini", ModelSettings())
    assert model.openai_api_key.get_secret_value() == KEYS["OPENAI_API_KEY"]


async def test_a_server_by_url_gets_the_wards_key_and_the_record_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-the-ward")
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    file = tmp_path / "trace.jsonl"
    with FakeServer() as server:
        await put(served(server, trace_file=str(file)))
    assert server.requests[0].headers["authorization"] == "Bearer key-of-the-ward"
    assert file.stat().st_size > 0
    assert "key-of" not in file.read_text("utf-8")


async def test_a_key_that_the_server_quotes_in_its_error_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-the-ward")

    def quote(request: ChatRequest) -> None:
        raise PermissionError(request.headers["authorization"])

    with FakeServer(answer=quote) as server:
        error, _ = await fail(served(server, max_attempts=1, trace_file=str(tmp_path / "trace.jsonl")), ModelError)
    assert "Bearer <WARDROUND_API_KEY>" in error
    assert "key-of-the-ward" not in error + (tmp_path / "trace.jsonl").read_text("utf-8")


def test_a_missing_key_or_package_is_an_error_that_names_it() -> None:
    with pytest.raises(
        ModelSpecError, match=r"gpt-4o-mini needs a key: set OPENAI_API_KEY in .* openai:gpt-4o-mini@URL"
    ):
        build_model("openai:gpt-4o-mini", ModelSettings())
    with pytest.raises(ModelSpecError, match=r"upstage:solar cannot be used: .*langchain-upstage"):
        build_model("upstage:solar", ModelSettings())


@in_every_form
async def test_pictures_arrive_with_the_question_and_the_trace_keeps_their_names(
    supports: Collection[str], form: str, tmp_path: Path
) -> None:
    file = tmp_path / "trace.jsonl"
    content = base64.b64encode(PICTURE.read_bytes()).decode()
    with FakeServer(answer=good, supports=supports) as server:
        opinion, _ = await put(served(server, trace_file=str(file)), pictures=[str(PICTURE)])
    blocks = server.requests[-1].messages[-1]["content"]
    assert opinion == OPINION
    assert [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"] == [
        f"data:image/png;base64,{content}"
    ]
    assert "A small left pleural effusion." in blocks[0]["text"]
    kept = file.read_text("utf-8")
    assert json.loads(kept)["messages"][-1] == {"role": "user", "image": "surgery-01.png"}
    assert content[:64] not in kept and str(PICTURE.parent) not in kept


async def test_pictures_are_still_there_when_an_answer_is_repaired() -> None:
    with FakeServer(answer=good, faults=["cut_json"]) as server:
        await put(served(server), pictures=[str(PICTURE)])
    assert server.requests[1].messages[1]["content"][1]["type"] == "image_url"


@pytest.mark.parametrize(("said", "status"), [("blind", 400), ("no_mmproj", 500)])
async def test_a_server_that_takes_no_pictures_is_sent_them_once_and_every_record_says_so(
    said: Fault, status: int
) -> None:
    def blind(request: ChatRequest) -> Fault | None:
        return said if "image_url" in str(request.messages) else None

    with FakeServer(answer=good, faults=blind) as server:
        for _ in range(2):
            opinion, call = await put(served(server), pictures=[str(PICTURE)])
            assert opinion == OPINION and call.left_out == {"pictures": 1}
        _, call = await put(served(server))
        assert call.left_out == {}
    assert [request.status for request in server.requests] == [status, 200, 200, 200]


async def test_of_several_questions_under_way_when_pictures_are_refused_none_is_lost() -> None:
    def blind(request: ChatRequest) -> Fault | None:
        return "no_mmproj" if "image_url" in str(request.messages) else None

    with FakeServer(answer=good, faults=blind, latency=0.1) as server:
        answers = await asyncio.gather(*(put(served(server), pictures=[str(PICTURE)]) for _ in range(3)))
    assert [(opinion, call.left_out) for opinion, call in answers] == [(OPINION, {"pictures": 1})] * 3
    assert [request.status for request in server.requests] == [500, 500, 500, 200, 200, 200]


@pytest.mark.parametrize("said", ["image too large", "cannot decode the image", "at most 1 image may exceed"])
def test_a_picture_that_is_refused_for_itself_is_no_sign_of_a_blind_model(said: str) -> None:
    error = RuntimeError(said)
    error.status_code = 400  # type: ignore[attr-defined]
    forms = Forms("any")
    with pytest.raises(FormRefusedError), forms.refusing("json_schema", (), [], pictures=1):
        raise error
    assert not forms.blind


async def test_an_answer_that_was_cut_off_is_asked_for_in_fewer_words() -> None:
    with FakeServer(answer=good, faults=["cut_json"]) as server:
        await put(served(server))
    assert "too long and was cut off: answer in fewer words" in str(server.requests[1].messages[-1])


async def test_nothing_but_the_named_server_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "key-of-langsmith")  # a key alone switches nothing on
    peers: list[Any] = []
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def connecting(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            peers.append(address[:2])
        connect(self, address)

    def resolving(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        peers.append((host, port))
        return resolve(host, port, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    with FakeServer(answer=good, faults=["500", "cut_json"]) as server:
        await put(served(server))
        await asyncio.sleep(0.2)  # telemetry would come from a thread of its own
        named = ("127.0.0.1", server.port)
    assert named in peers
    assert set(peers) == {named}


# Many at once


@pytest.mark.slow
async def test_64_questions_are_in_flight_together() -> None:
    with FakeServer(answer=good) as server:
        server.hold_answers(0)
        asked = asyncio.gather(*(put(served(server)) for _ in range(64)))
        async with asyncio.timeout(60):
            while server.in_flight < 64:  # noqa: ASYNC110 - they are counted by another thread
                await asyncio.sleep(0.01)
        server.release()
        results = await asked
    assert all(opinion == OPINION and call.attempts == 1 for opinion, call in results)


async def test_many_questions_at_a_server_that_must_be_negotiated_with_are_all_answered() -> None:
    with FakeServer(answer=good, supports=("text",), latency=0.05) as server:
        results = await asyncio.gather(*(put(served(server)) for _ in range(16)))
        _, last = await put(served(server))
    assert all(opinion == OPINION for opinion, _ in results)
    assert last.attempts == 1


async def test_one_client_serves_all_questions_of_a_loop_and_other_settings_get_another() -> None:
    with FakeServer() as server:
        one = chat_client(spec(server), served(server))
        assert chat_client(spec(server), served(server, max_attempts=2)) is one
        assert chat_client(spec(server), served(server, temperature=1.0)) is not one


async def test_calls_with_seed_after_seed_share_their_connections_and_keep_few_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm.chat._MOST_CLIENTS", 3)
    with FakeServer() as server:
        clients: list[Any] = [chat_client(spec(server), served(server, seed=seed)) for seed in range(5)]
        assert len({id(client._models[frozenset()].http_async_client) for client in clients}) == 1
        assert chat_client(spec(server), served(server, seed=4)) is clients[4]
        assert chat_client(spec(server), served(server, seed=0)) is not clients[0]


def test_one_event_loop_after_another_can_ask_at_the_first_attempt() -> None:
    with FakeServer(answer=good) as server:
        results = [asyncio.run(put(served(server))) for _ in range(3)]
    assert all(opinion == OPINION and call.attempts == 1 for opinion, call in results)
    assert len(server.requests) == 3


@pytest.mark.slow
def test_event_loops_in_several_threads_can_ask_at_the_same_time() -> None:
    results: list[tuple[Opinion, int]] = []

    async def several(server: FakeServer) -> None:
        for opinion, call in await asyncio.gather(*(put(served(server)) for _ in range(4))):
            results.append((opinion, call.attempts))

    def work(server: FakeServer) -> None:
        for _ in range(2):
            asyncio.run(several(server))

    with FakeServer(answer=good, latency=0.5) as server:
        threads = [threading.Thread(target=work, args=(server,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [(OPINION, 1)] * 32
    assert server.max_in_flight > 4


@pytest.mark.slow
def test_the_client_of_a_closed_event_loop_is_let_go() -> None:
    async def ask(server: FakeServer) -> "weakref.ref[asyncio.AbstractEventLoop]":
        await put(served(server))
        return weakref.ref(asyncio.get_running_loop())

    with FakeServer() as server:
        first = asyncio.run(ask(server))
        asyncio.run(ask(server))
    gc.collect()
    assert first() is None


@in_every_form
async def test_whatever_is_asked_satisfies_the_answers_type(supports: Collection[str], form: str) -> None:
    with FakeServer(supports=supports) as server:
        opinion, call = await put(served(server))
    jsonschema.validate(call.answer, answer_schema(Opinion, "en"))
    assert Opinion.model_validate(call.answer) == opinion


async def test_what_a_repair_said_is_no_reason() -> None:
    """A model of 1.5 billion parameters, asked again after a loop, gave the fault as a physician's reason."""
    told = "The answer cannot be read. It says the same over and over, and was cut off."
    replies = iter([{**GOOD, "reason": "The report is short. " * 40}, {**GOOD, "reason": told}, GOOD])
    with FakeServer(answer=lambda request: next(replies)) as server:
        opinion, call = await put(served(server, repairs=3))
    assert opinion == OPINION and call.repaired and call.attempts == 3


async def test_a_reason_may_say_what_a_repair_said_of_a_field() -> None:
    """The name of the wrong department is told, and may be what a reason is about."""
    reason = "Cardiology is not in the vocabulary of departments."
    replies = iter([{**GOOD, "department": "Cardiology"}, {**GOOD, "reason": reason}])
    with FakeServer(answer=lambda request: next(replies)) as server:
        opinion, call = await put(served(server, repairs=3))
    assert opinion.reason == reason and call.attempts == 2
