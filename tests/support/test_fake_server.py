import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any, Literal

import jsonschema
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from tests.support.fake_server import FAULTS, ChatRequest, FakeServer, FaultPlan, main
from tests.support.schema_sampler import sample, violate


class Finding(BaseModel):
    organ: str = Field(min_length=3, max_length=40)
    size_mm: float = Field(ge=1, le=80)
    side: Literal["left", "right"] | None


class Opinion(BaseModel):
    accepted: bool
    level: int = Field(ge=1, le=5)
    items: list[Literal["CT", "MRI", "X-ray"]] = Field(min_length=1, max_length=3)
    findings: list[Finding]
    note: str | None = None


class Tree(BaseModel):
    name: str
    children: list["Tree"]


def chat(server: FakeServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key="x", model="any", **{"max_retries": 0, **options})


def fenced(schema: dict[str, Any]) -> str:
    return f"Answer with JSON of this schema:\n```json\n{json.dumps(schema, indent=1)}\n```\n"


SCHEMAS: list[dict[str, Any]] = [
    Opinion.model_json_schema(),
    Tree.model_json_schema(),
    {
        "type": "object",
        "properties": {"n": {"type": "integer", "exclusiveMinimum": 3, "maximum": 4}},
        "required": ["n"],
    },
    {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 7, "minimum": 1}}, "required": ["n"]},
    {"type": "object", "properties": {"n": {"type": "number", "exclusiveMaximum": -2}}, "required": ["n"]},
    {"type": "object", "properties": {"x": {"enum": ["a", 2]}, "y": {"const": None}}, "required": ["x", "y"]},
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}, "minItems": 2}},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"type": ["null", "string"], "minLength": 30},
    {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"const": 1}}}]},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_sample_satisfies_its_schema_for_any_seed(schema: dict[str, Any]) -> None:
    for seed in range(50):
        jsonschema.validate(sample(schema, random.Random(seed)), schema)


@pytest.mark.parametrize("schema", SCHEMAS[:6])
def test_a_violation_never_satisfies_its_schema(schema: dict[str, Any]) -> None:
    for seed in range(20):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(violate(sample(schema, random.Random(seed)), schema), schema)


def test_a_plain_question_gets_text_with_token_usage() -> None:
    with FakeServer() as server:
        reply = chat(server).invoke("How are you?")
    assert reply.text.startswith("Answer ")
    assert reply.usage_metadata is not None and reply.usage_metadata["input_tokens"] > 0
    assert [(request.mode, request.status, request.model) for request in server.requests] == [("text", 200, "any")]


def test_the_same_messages_get_the_same_answer_and_others_another() -> None:
    with FakeServer() as server:
        model = chat(server)
        first, again, other = (model.invoke(question).text for question in ("one", "one", "two"))
    assert first == again != other


@pytest.mark.parametrize(("method", "mode"), [("json_schema", "json_schema"), ("function_calling", "tools")])
def test_structured_output_validates_by_either_method(method: Any, mode: str) -> None:
    with FakeServer() as server:
        opinion = chat(server).with_structured_output(Opinion, method=method).invoke("Judge.")
    assert isinstance(opinion, Opinion) and opinion.accepted
    assert server.requests[0].mode == mode


def test_a_schema_in_the_prompt_is_answered_in_text_mode() -> None:
    with FakeServer() as server:
        reply = chat(server).invoke('A record:\n```json\n{"age": 3}\n```\n' + fenced(Opinion.model_json_schema()))
    Opinion.model_validate_json(reply.text)
    assert server.requests[0].mode == "text"


def test_a_bound_tool_is_called_until_its_result_has_come_back() -> None:
    with FakeServer() as server:
        model = chat(server).bind_tools([Opinion])
        called = model.invoke("Judge.")
        assert Opinion.model_validate(called.tool_calls[0]["args"])
        result = {"role": "tool", "tool_call_id": called.tool_calls[0]["id"], "content": "done"}
        assert not model.invoke([("user", "Judge."), called, result]).tool_calls


def test_a_stream_gives_the_same_text_in_pieces() -> None:
    with FakeServer() as server:
        model = chat(server)
        pieces = [chunk.text for chunk in model.stream("Judge. " + fenced(Opinion.model_json_schema()))]
        whole = model.invoke("Judge. " + fenced(Opinion.model_json_schema())).text
    assert "".join(pieces) == whole and len(pieces) > 3


def test_streamed_tool_calls_are_put_together_by_the_client() -> None:
    with FakeServer() as server:
        chunks = list(chat(server, stream_usage=True).bind_tools([Opinion]).stream("Judge."))
    message: Any = sum(chunks[1:], chunks[0])
    assert Opinion.model_validate(message.tool_calls[0]["args"])
    assert message.usage_metadata is not None and message.usage_metadata["output_tokens"] > 0


def test_the_answer_function_may_give_an_object_a_text_or_leave_it_to_the_default() -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | str | None:
        return {"object": {"organ": "liver"}, "text": "plain words"}.get(request.text.split()[-1])  # type: ignore[return-value]

    with FakeServer(answer=answer) as server:
        model = chat(server)
        replies = [model.invoke(f"give {kind}").text for kind in ("object", "text", "nothing")]
    assert replies[0] == '{"organ": "liver"}' and replies[1] == "plain words" and replies[2].startswith("Answer ")


async def test_a_server_that_holds_answers_the_next_few_and_the_others_when_it_is_told_to() -> None:
    with FakeServer() as server:
        model = chat(server)
        await model.ainvoke("before")
        server.hold_answers(1)
        await model.ainvoke("one more")
        assert not server.is_holding()
        waiting = asyncio.create_task(model.ainvoke("another"))
        while not server.is_holding():  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.05)
        assert not waiting.done() and server.requests[-1].time_out is None
        server.release()
        assert (await waiting).text and not server.is_holding()


def test_pictures_in_messages_are_recorded_and_leave_the_text_alone() -> None:
    blocks = [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    with FakeServer() as server:
        chat(server).invoke([{"role": "user", "content": blocks}])
    assert server.requests[0].text == "See."
    assert server.requests[0].messages[0]["content"][1]["type"] == "image_url"


def test_a_client_waits_as_long_as_a_429_asks_and_then_succeeds() -> None:
    with FakeServer(faults=["429", "429"], retry_after=0.3) as server:
        chat(server, max_retries=2).invoke("Hello")
    assert [request.status for request in server.requests] == [429, 429, 200]
    gaps = [
        late.time_in - (early.time_out or 0) for early, late in zip(server.requests, server.requests[1:], strict=False)
    ]
    assert all(0.29 < gap < 0.48 for gap in gaps), gaps  # the client's own back-off would start at 0.375 and double


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("timeout", openai.APITimeoutError),
        ("disconnect", openai.APIConnectionError),
    ],
)
def test_a_transport_fault_reaches_the_client_as_its_error(fault: Any, error: type[Exception]) -> None:
    with FakeServer(faults=[fault], hold=3) as server, pytest.raises(error):
        chat(server, timeout=0.3).invoke("Hello")
    assert server.requests[0].fault == fault
    assert server.requests[0].status == (int(fault) if fault.isdigit() else None)


def test_cut_json_does_not_parse_and_a_violation_does_not_validate() -> None:
    with FakeServer(faults=["cut_json", "schema_violation"]) as server:
        model, question = chat(server), fenced(Opinion.model_json_schema())
        cut, violation = model.invoke(question), model.invoke(question)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(cut.text)
    assert cut.response_metadata["finish_reason"] == "length"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(violation.text), Opinion.model_json_schema())


def test_cut_json_also_cuts_the_arguments_of_a_tool_call() -> None:
    with FakeServer(faults=["cut_json"]) as server:
        reply = chat(server).bind_tools([Opinion]).invoke("Judge.")
    assert not reply.tool_calls and reply.invalid_tool_calls


def test_chatter_wraps_valid_json_and_replaces_a_tool_call() -> None:
    with FakeServer(faults=["chatter"]) as server:
        reply = chat(server).bind_tools([Opinion]).invoke("Judge.")
    assert not reply.tool_calls
    Opinion.model_validate_json(reply.text.split("```json")[1].split("```")[0])


def test_null_content_and_refusal_come_without_text() -> None:
    with FakeServer(faults=["null_content", "refusal"]) as server:
        model = chat(server)
        empty, refusal = model.invoke("Hello"), model.invoke("Hello")
    assert empty.text == refusal.text == ""
    assert "refusal" in refusal.additional_kwargs


def test_an_empty_choice_has_no_choices() -> None:
    with FakeServer(faults=["empty_choice"]) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)
        completion = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hello"}])
    assert completion.choices == []


def test_a_form_that_is_not_supported_is_refused_with_400_and_takes_no_fault() -> None:
    with FakeServer(supports=("text",), faults=["503"]) as server:
        for method in ("json_schema", "function_calling"):
            with pytest.raises(openai.BadRequestError):
                chat(server).with_structured_output(Opinion, method=method).invoke("Judge.")
        with pytest.raises(openai.InternalServerError):
            chat(server).invoke("Judge.")
    assert [(request.status, request.fault) for request in server.requests] == [(400, None), (400, None), (503, "503")]


def test_models_are_listed_or_the_path_is_missing() -> None:
    with FakeServer(models=["a", "b"]) as server:
        assert [model.id for model in openai.OpenAI(base_url=server.base_url, api_key="x").models.list()] == ["a", "b"]
    with FakeServer(models=None) as server, pytest.raises(openai.NotFoundError):
        openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0).models.list()


def test_a_malformed_request_is_answered_with_400() -> None:
    with FakeServer() as server, pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(server.base_url + "/chat/completions", data=b"{]")


def test_a_fault_plan_hits_the_same_requests_in_any_order_and_draws_anew_for_a_retry() -> None:
    def outcome(order: list[str]) -> dict[str, str | None]:
        plan = FaultPlan(7, {"500": 0.3, "cut_json": 0.2})
        with FakeServer(faults=plan) as server:
            client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)
            for text in order:
                with contextlib.suppress(openai.InternalServerError):
                    client.chat.completions.create(model="any", messages=[{"role": "user", "content": text}])
        counts: dict[str, int] = {}
        result: dict[str, str | None] = {}
        for request in server.requests:
            counts[request.text] = counts.get(request.text, 0) + 1
            result[f"{request.text}/{counts[request.text]}"] = request.fault
        return result

    texts = [f"question {number}" for number in range(20)] * 2
    forward = outcome(texts)
    assert forward == outcome(texts[::-1])
    assert {"500", "cut_json", None} == set(forward.values())
    assert any(forward[f"{text}/1"] != forward[f"{text}/2"] for text in texts)


def test_a_fault_plan_refuses_unknown_faults_and_too_large_shares() -> None:
    with pytest.raises(ValueError, match="unknown faults: 418"):
        FaultPlan(0, {"418": 0.1})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="more than 1"):
        FaultPlan(0, {"429": 0.7, "500": 0.7})


@pytest.mark.slow
def test_256_connections_are_answered_at_once() -> None:
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "Hello"}]}).encode()

    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status = await reader.readline()
        writer.close()
        return status

    async def ask_all(port: int) -> list[bytes]:
        return await asyncio.gather(*(ask(port) for _ in range(256)))

    with FakeServer(latency=1.0) as server:
        start = time.monotonic()
        statuses = asyncio.run(ask_all(server.port))
        seconds = time.monotonic() - start
    assert set(statuses) == {b"HTTP/1.1 200 OK\r\n"}
    assert server.max_in_flight == 256 and seconds < 10


def test_stopping_does_not_wait_for_held_connections_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with FakeServer(faults=["timeout"], hold=60) as server:
        with pytest.raises(openai.APITimeoutError):
            chat(server, timeout=0.2).invoke("Hello")
        start = time.monotonic()
    assert time.monotonic() - start < 5
    assert capfd.readouterr() == ("", "")


def test_the_command_line_prints_its_base_url_and_injects_faults() -> None:
    command = [sys.executable, "-m", "tests.support.fake_server", "--faults", "none,500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        client = openai.OpenAI(base_url=process.stdout.readline().strip(), api_key="x", max_retries=0)
        assert client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}]).choices
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}])
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0


def test_the_command_line_refuses_an_unknown_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["--faults", "418"])
    assert refused.value.code == 2 and FAULTS[0] in capsys.readouterr().err
