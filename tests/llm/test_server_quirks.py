"""Servers with other manners than OpenAI's: each answers, or fails in time with one clear reason."""

import json
import re
import time
from typing import Any

import pytest

from llm import AnswerError, Meter, ModelError, RefusedError, metering
from llm.replies import find_json
from llm.server_quirks import put_right
from llm.throttle import Throttle
from tests.llm.examinee import GOOD, OPINION, fail, put, served, spec
from tests.support.fake_server import ChatRequest, FakeServer, Fault

ANSWERS: list[Fault] = [
    "reasoning_content",
    "reasoning",
    "thinks_aloud",
    "in_channels",
    "counts_in_words",
    "counts_null",
    "no_counts",
    "parts",
    "no_finish",
    "no_role",
    "objects",
    "streamed",
    "commented",
]


def good(request: ChatRequest) -> dict[str, Any]:
    return GOOD


@pytest.mark.parametrize("form", ["json_schema", "tools"])
@pytest.mark.parametrize("manner", ANSWERS)
async def test_an_answer_is_read_whatever_manners_its_server_has(manner: Fault, form: str) -> None:
    with FakeServer(answer=good, supports=(form,), faults=[manner]) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and not call.repaired
    assert server.requests[-1].mode == form and server.requests[-1].fault == manner
    # A stream that nobody asked for tells no counts.
    assert (call.input_tokens > 0) == (manner not in ("counts_null", "no_counts", "streamed"))


@pytest.mark.parametrize(
    "said",
    [
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "stream must be true",
        "enable thinking can not be support when `stream=False`.",
    ],
)
@pytest.mark.parametrize("form", ["json_schema", "tools", "text"])
async def test_a_server_that_only_streams_is_asked_for_streams_from_then_on(said: str, form: str) -> None:
    refused = (400, said)
    with FakeServer(
        answer=good, supports=(form,), refusal=lambda request: None if request.stream else refused
    ) as server:
        opinion, _ = await put(served(server, max_tokens=99))
        _, call = await put(served(server, max_tokens=99))
    assert opinion == OPINION and call.attempts == 1 and call.input_tokens > 0
    last = server.requests[-1]
    assert last.mode == form and last.body["max_tokens"] == 99


@pytest.mark.parametrize(
    "said",
    [
        "Unrecognized request argument supplied: stream_options",
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs not permitted"}
            ]
        },
        "include_usage is not supported",
    ],
)
async def test_a_server_that_only_streams_and_takes_no_options_of_streams_is_asked_without(said: Any) -> None:
    def refuses(request: ChatRequest) -> tuple[int, Any] | None:
        return (
            (422, said)
            if "stream_options" in request.body
            else None
            if request.stream
            else (400, "stream must be true")
        )

    with FakeServer(answer=good, refusal=refuses) as server:
        opinion, call = await put(served(server))
        again, _ = await put(served(server, seed=1))
    assert opinion == again == OPINION and (call.attempts, call.form) == (3, "json_schema")
    assert len(server.requests) == 4, "what is refused is known from then on"


USAGES: list[dict[str, Any]] = [
    {"input_tokens": 70, "output_tokens": 8},
    {"inputTokens": "70", "outputTokens": "8", "totalTokens": 78},
    {"promptTokens": 70, "completionTokens": 8},
    {"promptTokenCount": 70, "candidatesTokenCount": 8, "totalTokenCount": 78},
    {"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 70, "output_tokens": 8},
    {"input_tokens": 70, "output_tokens": 5, "total_tokens": 78, "output_tokens_details": {"reasoning_tokens": 3}},
]


@pytest.mark.parametrize("usage", USAGES)
async def test_tokens_are_read_under_whatever_name_they_are_counted(
    usage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.fake_server._usage", lambda *_: usage)
    with FakeServer(answer=good) as server:
        _, call = await put(served(server))
    assert (call.input_tokens, call.output_tokens) == (70, 8)


@pytest.mark.parametrize("fault", ["error_200", "empty_choice"])
async def test_tokens_of_a_failed_answer_are_paid_all_the_same(fault: Fault) -> None:
    with FakeServer(answer=good) as server:
        _, plain = await put(served(server, prices={spec(server): (1.0, 1.0)}))
    with FakeServer(answer=good, faults=[fault, fault]) as server:
        _, call = await put(served(server, prices={spec(server): (1.0, 1.0)}))
    with FakeServer(answer=good, faults=[fault] * 9) as server:
        meter = Meter("case")
        with metering(meter):
            _, failed = await fail(served(server, prices={spec(server): (1.0, 1.0)}, max_attempts=2), ModelError)
    assert (call.attempts, failed.attempts) == (3, 2)
    assert call.input_tokens == 3 * plain.input_tokens and failed.input_tokens == 2 * plain.input_tokens
    for one in (call, failed):
        assert one.cost == pytest.approx((one.input_tokens + one.output_tokens) / 1e6)
    assert meter.spent.tokens == failed.input_tokens + failed.output_tokens and meter.spent.cost == failed.cost


@pytest.mark.parametrize(
    ("code", "error"), [(1004, RefusedError), (1008, RefusedError), (1002, ModelError), (1000, ModelError)]
)
async def test_an_error_in_minimax_own_account_is_taken_with_the_status_that_it_means(code: int, error: Any) -> None:
    body = {"id": "1", "choices": None, "base_resp": {"status_code": code, "status_msg": "as documented"}}
    with FakeServer(refusal=lambda _: (200, body)) as server:
        told, call = await fail(served(server, max_attempts=1), error)
    assert "as documented" in told and call.attempts == (4 if code == 1002 else 1)
    answered = {"choices": [{"message": {"content": "x"}}], "base_resp": {"status_code": 0, "status_msg": "success"}}
    assert (put_right(json.dumps(answered).encode()) or (0,))[0] == 200


def test_tokens_that_stand_in_the_choice_are_read_also_in_a_stream() -> None:
    """Moonshot's streams end so."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    plain = {"choices": [{"message": {"content": "x"}, "usage": usage}]}
    for body in (json.dumps(plain).encode(), _stream(_piece(content="x"), last)):
        _, right = put_right(body) or (0, b"{}")
        assert json.loads(right)["usage"] == usage


@pytest.mark.parametrize(
    ("finish", "ends"),
    [
        ("content_filter: RECITATION", "content_filter"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "function_call_filter"),
        ("stop", "stop"),
        (None, None),
    ],
)
def test_a_reason_to_end_that_says_more_is_read_as_its_first_word(finish: str | None, ends: str | None) -> None:
    body = {"choices": [{"message": {"role": "assistant"}, "finish_reason": finish}]}
    _, right = put_right(json.dumps(body).encode()) or (0, b"{}")
    assert json.loads(right)["choices"][0]["finish_reason"] == ends


async def test_tokens_of_an_error_and_of_a_form_that_was_passed_over_are_paid_all_the_same() -> None:
    paid = {"error": {"message": "upstream failed"}, "usage": {"input_tokens": 40, "output_tokens": 2}}
    first: list[int] = []

    def fails(request: ChatRequest) -> tuple[int, dict[str, Any]] | None:
        first.append(1)
        return (503, paid) if len(first) == 1 else None

    with FakeServer(answer=good, refusal=fails) as server:
        _, call = await put(served(server))
    with FakeServer(answer=good) as server:
        _, plain = await put(served(server))
    assert (call.attempts, call.input_tokens - plain.input_tokens) == (2, 40)

    def prose_and_then_nothing(request: ChatRequest) -> tuple[int, str] | None:
        return None if request.mode == "json_schema" else (403, "not allowed")

    with FakeServer(answer=lambda request: "I would rather not say.", refusal=prose_and_then_nothing) as server:
        _, failed = await fail(served(server), RefusedError)
    assert failed.attempts == 2 and failed.input_tokens > 0 and failed.output_tokens > 0


async def test_tokens_of_an_answer_that_is_too_long_to_read_are_paid_all_the_same() -> None:
    with FakeServer(answer=lambda request: "{}" * 300_000) as server:
        _, call = await fail(served(server), ModelError)
    assert call.attempts == 1 and call.output_tokens > 100_000


WRAPPED: list[Any] = [
    {"response": GOOD},
    {"properties": GOOD},
    {"answer": {"Opinion": GOOD}},
    [GOOD],
    {"answers": [GOOD]},
    {"name": "Opinion", "arguments": GOOD},
    {"name": "Opinion", "parameters": GOOD},
]


@pytest.mark.parametrize("form", ["json_schema", "json_object", "tools", "text"])
@pytest.mark.parametrize("wrapped", WRAPPED)
async def test_an_answer_in_one_more_object_is_read(wrapped: Any, form: str) -> None:
    if form == "tools" and isinstance(wrapped, list):
        pytest.skip("a tool's arguments are an object")
    with FakeServer(answer=lambda request: wrapped, supports=(form,)) as server:
        for _ in range(4):
            opinion, call = await put(served(server))
            assert opinion == OPINION and not call.repaired
    assert {request.mode for request in server.requests if request.status == 200} == {form}


@pytest.mark.parametrize(
    "wrapped",
    [
        {"response": GOOD, "note": "as asked"},
        {"name": "Opinion", "arguments": GOOD, "note": "as asked"},
        {"response": {**GOOD, "accepted": "perhaps"}},
        {"reason": GOOD},
        {"answers": [GOOD, {**GOOD, "accepted": False}]},
    ],
)
async def test_what_is_not_the_answer_alone_is_asked_for_again(wrapped: Any) -> None:
    replies = iter([wrapped])
    with FakeServer(answer=lambda request: next(replies, GOOD), supports=("text",)) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.repaired and call.attempts == 2 + 3  # three forms are refused first


@pytest.mark.parametrize(("status", "requested"), [(413, 5_000), (413, 7_500), (429, 7_500)])
async def test_a_request_beyond_the_tokens_of_a_minute_waits_or_never_passes(status: int, requested: int) -> None:
    """Groq says so with 413, OpenAI with 429."""
    said = (
        "Request too large for model `any` in organization `o` service tier `on_demand` on tokens per minute (TPM): "
        f"Limit 6,000, Used 2000, Requested {requested}, please reduce your message size and try again."
    )
    first: list[int] = []

    def refuses(request: ChatRequest) -> tuple[int, str] | None:
        first.append(1)
        return (status, said) if requested > 6_000 or len(first) < 3 else None

    with FakeServer(answer=good, refusal=refuses) as server:
        if requested > 6_000:
            told, call = await fail(served(server), ModelError)
            assert "more tokens than the account may use" in told and "longer context" not in told
            assert (call.error or "").startswith("rate_limit: ") and call.attempts == 1
        else:
            opinion, call = await put(served(server, max_attempts=1))
            assert opinion == OPINION and call.attempts == 3


@pytest.mark.parametrize("status", [424, 498])
async def test_a_generation_that_failed_and_a_full_server_are_asked_again(status: int) -> None:
    """TGI reports the one with 424, Groq the other with 498."""
    first: list[int] = []

    def fails(request: ChatRequest) -> tuple[int, dict[str, Any]] | None:
        first.append(1)
        return (status, {"error": "Request failed during generation"}) if len(first) == 1 else None

    with FakeServer(answer=good, refusal=fails) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.attempts == 2 and call.form == "json_schema"


@pytest.mark.parametrize(("written", "counted"), [(5, 105), (None, 105), (105, 105)])
async def test_tokens_of_a_thought_that_stand_in_the_total_alone_are_counted(written: int | None, counted: int) -> None:
    """xAI leaves them out of the completion's, Gemini too, which names no completion at all if all was thought."""
    usage = {"prompt_tokens": 20, "total_tokens": 125, "completion_tokens_details": {"reasoning_tokens": 100}}
    if written is not None:
        usage["completion_tokens"] = written
    _, right = put_right(json.dumps({"choices": [], "usage": usage}).encode()) or (0, b"")
    assert json.loads(right)["usage"]["completion_tokens"] == counted
    with FakeServer(answer=good, faults=["thinks_uncounted"]) as server:
        _, call = await put(served(server))
    with FakeServer(answer=good) as server:
        _, plain = await put(served(server))
    assert (call.input_tokens, call.output_tokens) == (plain.input_tokens, plain.output_tokens + 100)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10, "total_tokens": 2060, "cache_creation_input_tokens": 2000},
        {"prompt_tokens": 10, "total_tokens": 2060, "cache_read_input_tokens": 2000, "prompt_tokens_details": None},
        {"prompt_tokens": 10, "total_tokens": 2060, "prompt_tokens_details": {"cached_tokens": 2000}},
        {"prompt_tokens": 10, "total_tokens": 1060, "prompt_tokens_details": {"image_tokens": 1000}},
        {
            "prompt_tokens": 10,
            "total_tokens": 2060,
            "prompt_tokens_details": {"cached_tokens": 2000},
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        {"prompt_tokens": 0, "total_tokens": 2060},
        {"prompt_tokens": 10, "total_tokens": 40},
    ],
)
def test_input_that_stands_in_the_total_alone_is_no_output(usage: dict[str, Any]) -> None:
    """LiteLLM leaves what Bedrock read from its cache, or wrote to it, out of the prompt's tokens."""
    body = {"choices": [], "usage": {"completion_tokens": 50, **usage}}
    _, right = put_right(json.dumps(body).encode()) or (0, b"")
    assert json.loads(right)["usage"]["completion_tokens"] == 50


@pytest.mark.parametrize("fault", ["error_200", "half_closed", "page", "502", "empty_choice"])
async def test_what_fails_once_is_asked_for_again(fault: Fault) -> None:
    with FakeServer(answer=good, faults=[fault]) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.attempts == 2 and not call.repaired


@pytest.mark.parametrize(
    ("fault", "kind", "why"),
    [
        ("page", RefusedError, r"a page answers at this address.*\(.*is not JSON: '<html>.*Please log in"),
        ("error_200", ModelError, r"no answer after 2 requests \(.*Provider returned error"),
        ("empty_choice", ModelError, r"no answer after 2 requests \(.*has no choices"),
        ("half_closed", ModelError, r"no answer after 2 requests \(.*[Cc]onnection"),
        ("502", ModelError, r"no answer after 2 requests \(.*Bad Gateway"),
        ("trickle", ModelError, r"no answer after 2 requests \(.*no complete answer within 0.3 s"),
        ("thoughts", AnswerError, r"even after a repair: the reply is a thought without an answer"),
    ],
)
async def test_what_fails_for_ever_ends_in_time_with_its_reason(fault: Fault, kind: Any, why: str) -> None:
    began = time.monotonic()
    with FakeServer(answer=good, faults=[fault] * 99, hold=60.0) as server:
        error, _ = await fail(served(server, max_attempts=2, timeout=0.3 if fault == "trickle" else 30.0), kind)
    assert re.search(why, error)
    assert time.monotonic() - began < 30


async def test_a_page_of_a_server_that_has_answered_fails_its_question_alone() -> None:
    with FakeServer(answer=good, faults=[None, "page", "page"]) as server:
        await put(served(server))
        error, _ = await fail(served(server, max_attempts=2), ModelError)
        await put(served(server))
    assert re.search(r"no answer after 2 requests \(.*is not JSON: '<html>.*Please log in", error)


@pytest.mark.slow
async def test_a_gateway_that_fails_again_and_again_while_it_answers_others_loses_no_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Throttle, "lost", lambda *_: False)  # others were answered since
    with FakeServer(answer=good, faults=lambda request: "502" if 0 < request.index < 8 else None) as server:
        await put(served(server))
        opinion, call = await put(served(server, max_attempts=2))
    assert opinion == OPINION and call.attempts == 8


def _stream(*events: Any) -> bytes:
    return "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events).encode()


def _piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_a_stream_is_put_together_thoughts_and_tools_apart() -> None:
    calls = [
        {"index": 0, "id": "a", "function": {"name": "Opinion", "arguments": '{"acc'}},
        {"index": 0, "function": {"arguments": 'epted": 1}'}},
    ]
    pieces = [_piece(role="assistant", content=None), _piece(reasoning_content="Let me "), _piece(reasoning="see.")]
    pieces += [_piece(tool_calls=[call]) for call in calls] + [_piece("tool_calls")]
    right = put_right(
        b": a remark\n\nretry: 3000\n\n" + _stream(*pieces, {"choices": [], "usage": {"prompt_tokens": 7}})
    )
    assert right is not None
    status, found = right[0], json.loads(right[1])
    (choice,) = found["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (status, choice["finish_reason"], found["usage"]) == (200, "tool_calls", {"prompt_tokens": 7})
    assert call["function"] == {"name": "Opinion", "arguments": '{"accepted": 1}'} and call["id"] == "a"
    assert choice["message"]["content"] == ""


@pytest.mark.parametrize("sign", ["\u2028", "\x85"])
def test_no_sign_within_a_streamed_text_ends_its_event(sign: str) -> None:
    event = json.dumps(_piece("stop", content=f"It hurts{sign}here."), ensure_ascii=False)
    right = put_right(f"data: {event}\r\rdata: [DONE]\r\r".encode())
    assert right is not None
    assert json.loads(right[1])["choices"][0]["message"]["content"] == f"It hurts{sign}here."


@pytest.mark.parametrize(
    "body",
    [
        _stream(_piece(content="It hurts here and")),  # breaks off: half a sentence is no answer
        _stream(_piece(content="It"))[:-20],
        b"data: \xff\xfe",
        b": PROCESSING\n\n: PROCESSING\n\n",
        b"<html>",
        b"[1]",
        b"null",
        b'{"choices": 5}',
        b'{"choices": [{"message": {"tool_calls": [5]}}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_completion_is_left_to_the_client(body: bytes) -> None:
    assert put_right(body) is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429}, 429),
        ({"code": "502"}, 502),
        ({"code": "busy"}, 500),
        ("busy", 500),
        ({"code": "rate_limit_exceeded", "type": "requests"}, 429),
        ({"code": None, "type": "overloaded_error"}, 529),
        ({"code": "data_inspection_failed", "type": "data_inspection_failed"}, 400),
        ({"code": {"of": "another kind"}, "status": "INTERNAL"}, 500),
    ],
)
def test_an_error_with_a_200_has_the_status_that_it_names(error: Any, status: int) -> None:
    right = put_right(json.dumps({"error": error}).encode())
    assert right is not None and right[0] == status


@pytest.mark.parametrize("content", ["", '{"level": 3}'])
def test_what_ended_with_an_error_is_a_failed_request_and_no_answer(content: str) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "error"}
    status, body = put_right(json.dumps({"choices": [choice]}).encode()) or (0, b"{}")
    assert status == 424 and "broke off" in json.loads(body)["error"]["message"]


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": GOOD}},
        {"message": {"content": json.dumps(json.dumps(GOOD))}},
        {"text": json.dumps(GOOD)},
    ],
    ids=["as an object", "encoded twice", "as text beside no message"],
)
def test_an_answer_in_another_place_or_shape_is_read(choice: dict[str, Any]) -> None:
    found = put_right(json.dumps({"choices": [choice]}).encode())
    assert found is not None and found[0] == 200
    assert json.loads(json.loads(found[1])["choices"][0]["message"]["content"]) == GOOD


def test_a_call_of_a_function_as_before_tools_is_one_of_a_tool() -> None:
    message = {"content": None, "function_call": {"name": "answer", "arguments": json.dumps(GOOD)}}
    found = put_right(json.dumps({"choices": [{"message": message}]}).encode())
    assert found is not None
    [call] = json.loads(found[1])["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == GOOD


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"accepted": true, "reason": "a", "accepted": false}', "accepted occurs twice in one JSON object"),
        ('{"accepted": NaN}', "NaN is not a number"),
    ],
)
def test_arguments_of_a_tool_that_are_no_one_answer_are_not_read_as_their_last_value(arguments: str, why: str) -> None:
    message = {"content": None, "tool_calls": [{"id": "a", "function": {"name": "Opinion", "arguments": arguments}}]}
    found = put_right(json.dumps({"choices": [{"message": message}]}).encode())
    assert found is not None
    read = json.loads(found[1])["choices"][0]["message"]
    assert not read["tool_calls"]
    with pytest.raises(ValueError, match=why):
        find_json(read["content"])


@pytest.mark.parametrize("body", [{"detail": "Not Found"}, {"choices": [{"message": None}]}])
def test_an_answer_without_a_choice_is_quoted(body: Any) -> None:
    found = put_right(json.dumps(body).encode())
    assert found is not None and found[0] == 424
    assert json.dumps(body) in json.loads(found[1])["error"]["message"]
