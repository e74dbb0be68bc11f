"""What is sent with a question: the parameters of a block, those of the run, and those that a server refuses."""

import logging
from typing import Any

import pytest

from llm import ModelSettings, ModelSpecError, RefusedError
from llm.build import _parameters, build_model, without_seed
from tests.llm.examinee import GOOD, OPINION, fail, put, spec
from tests.llm.test_chat import PICTURE
from tests.support.fake_server import ChatRequest, FakeServer


def block(server: FakeServer, **own: Any) -> ModelSettings:
    """The examinee's model as a block, in a run that has a temperature, a length and a seed."""
    return ModelSettings.model_validate(
        {
            "model": {"mine": {"spec": spec(server), **own}},
            "models": {"default": "mine"},
            "temperature": 0.5,
            "max_tokens": 70,
            "seed": 11,
        }
    )


async def body(**own: Any) -> dict[str, Any]:
    with FakeServer(answer=lambda request: GOOD) as server:
        opinion, call = await put(block(server, **own))
    assert opinion == OPINION and call.model == "mine"
    return dict(server.requests[0].body)


async def test_a_block_leaves_to_the_run_what_it_does_not_say() -> None:
    sent = await body()
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0.5, 70, 11)
    assert "top_p" not in sent and "reasoning_effort" not in sent


async def test_a_blocks_own_parameters_go_before_the_runs() -> None:
    own = {"temperature": 1.0, "top_p": 0.9, "max_tokens": 7, "reasoning_effort": "low", "extra_body": {"min_p": 0.1}}
    sent = await body(**own)
    assert {name: sent[name] for name in ("temperature", "top_p", "max_tokens", "reasoning_effort", "min_p")} == {
        "temperature": 1.0,
        "top_p": 0.9,
        "max_tokens": 7,
        "reasoning_effort": "low",
        "min_p": 0.1,
    }
    assert sent["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("body", [{"api_key": "x"}, {"a": {"api_key": "x"}}, {"a": [{"b": {"Authorization": "x"}}]}])
def test_no_secret_stands_in_a_body_however_deep(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="secrets are read from the environment"):
        ModelSettings.model_validate({"model": {"mine": {"spec": "openai:any@http://h/v1", "extra_body": body}}})


async def test_a_temperature_of_default_is_not_sent() -> None:
    assert "temperature" not in await body(temperature="default")
    with FakeServer() as server:
        await put(ModelSettings(models={"default": spec(server)}, temperature="default"))
    assert "temperature" not in server.requests[0].body


async def test_two_blocks_of_one_model_are_asked_with_their_own_parameters() -> None:
    with FakeServer() as server:
        warmth = {"cool": 0.1, "warm": 0.9}
        blocks = {name: {"spec": spec(server), "temperature": degree} for name, degree in warmth.items()}
        for name in blocks:
            await put(ModelSettings.model_validate({"model": blocks, "models": {"default": name}}))
    assert [request.body["temperature"] for request in server.requests] == [0.1, 0.9]


REFUSALS: dict[str, tuple[int, str | dict[str, Any]]] = {
    "temperature": (400, "Unsupported value: 'temperature' does not support 0.5 with this model."),
    "seed": (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),
    "max_tokens": (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
}


@pytest.mark.parametrize("parameter", REFUSALS)
async def test_a_parameter_that_a_server_refuses_is_left_out_from_then_on_and_said_once(
    parameter: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refusing(request: ChatRequest) -> tuple[int, str | dict[str, Any]] | None:
        return REFUSALS[parameter] if parameter in request.body else None

    with FakeServer(answer=lambda request: GOOD, refusal=refusing) as server, caplog.at_level(logging.WARNING):
        opinion, first = await put(block(server))
        _, second = await put(block(server))
    assert opinion == OPINION and (first.attempts, second.attempts) == (2, 1)
    assert {request.mode for request in server.requests} == {"json_schema"}
    kept = {"temperature", "seed", "max_tokens"} - {parameter}
    assert all(kept <= request.body.keys() for request in server.requests)
    assert [parameter in request.body for request in server.requests] == [True, False, False]
    newer = [request.body.get("max_completion_tokens") for request in server.requests]
    assert newer == ([None, 70, 70] if parameter == "max_tokens" else [None] * 3)
    assert [record.getMessage() for record in caplog.records] == [
        f"openai:any does not accept {parameter}; it is no longer sent"
    ]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model doesn't support the temperature field. Remove temperature and try again."),  # Bedrock
        (400, "invalid temperature: only 1 is allowed for this model"),  # Kimi
        (400, "this model has beta-limitations, temperature, top_p and n are fixed at 1"),  # OpenAI's o1
        (400, "Cannot set temperature for reasoning models"),
        (400, "The temperature parameter is no longer supported for this model."),
        (500, "litellm.APIConnectionError: bedrock does not support parameters: ['temperature'], for model=any."),
    ],
)
async def test_a_fixed_temperature_is_understood_however_it_is_said(status: int, said: str) -> None:
    def refusing(request: ChatRequest) -> tuple[int, str] | None:
        return (status, said) if "temperature" in request.body else None

    with FakeServer(answer=lambda request: GOOD, refusal=refusing) as server:
        opinion, call = await put(block(server))
    assert opinion == OPINION and call.attempts == 2 and call.form == "json_schema"


@pytest.mark.parametrize(
    "said",
    [
        "An unexpected error occurred while sampling (SamplingParams(temperature=0.5, seed=3, max_tokens=500))",
        "OpenAIException - unknown error. Received request: {'model': 'x', 'max_tokens': 400, 'temperature': 0.2}",
    ],
)
async def test_a_failure_that_quotes_the_request_takes_no_parameter_from_it(said: str) -> None:
    def failing_once(_: ChatRequest) -> tuple[int, str] | None:
        return (500, said) if len(server.requests) == 1 else None

    with FakeServer(answer=lambda request: GOOD, refusal=failing_once) as server:
        await put(block(server))
    assert all({"temperature", "max_tokens"} <= request.body.keys() for request in server.requests[:2])
    assert len(server.requests) == 2


async def test_a_refused_system_role_is_said_in_words_and_not_as_a_setting(caplog: pytest.LogCaptureFixture) -> None:
    def refusing(request: ChatRequest) -> tuple[int, str] | None:
        return (400, "System role not supported") if request.messages[0]["role"] == "system" else None

    with FakeServer(answer=lambda request: GOOD, refusal=refusing) as server, caplog.at_level(logging.WARNING):
        await put(block(server))
    (said,) = (record.getMessage() for record in caplog.records)
    assert said == "openai:any does not take these chat roles; all messages are sent as one of the user from now on"


async def test_what_a_thinking_model_refuses_is_not_held_against_its_block_that_does_not_think() -> None:
    """Claude's temperature and Qwen's JSON mode, by the same name at the same server."""

    def refusing(request: ChatRequest) -> tuple[int, str] | None:
        if not request.body.get("enable_thinking"):
            return None
        if "temperature" in request.body:
            return 400, "`temperature` may only be set to 1 when thinking is enabled."
        fits = request.mode in ("tools", "text")
        return None if fits else (400, "Json mode response is not supported when enable_thinking is true")

    with FakeServer(answer=lambda request: GOOD, refusal=refusing) as server:
        _, thinking = await put(block(server, extra_body={"enable_thinking": True}))
        _, plain = await put(block(server))
        _, again = await put(block(server, extra_body={"enable_thinking": True}))
    assert (thinking.form, plain.form, again.form) == ("tool", "json_schema", "tool")
    assert (plain.attempts, again.attempts) == (1, 1) and server.requests[-2].body["temperature"] == 0.5


@pytest.mark.parametrize(
    "said", ["`temperature` must be strictly positive", "temperature must be at most 0.4. Ask your internet support"]
)
async def test_a_temperature_outside_a_servers_range_is_left_to_the_user(said: str) -> None:
    with FakeServer(refusal=lambda request: (422, said)) as server, pytest.raises(RefusedError, match=said):
        await put(block(server))


async def test_a_reasoning_model_that_takes_none_of_them_answers_all_the_same() -> None:
    def refusing(request: ChatRequest) -> tuple[int, str | dict[str, Any]] | None:
        return next((REFUSALS[name] for name in ("seed", "temperature") if name in request.body), None)

    with FakeServer(answer=lambda request: GOOD, refusal=refusing, supports=("tools", "text")) as server:
        opinion, call = await put(block(server))
        _, again = await put(block(server))
    assert opinion == OPINION and call.attempts == 5 and again.attempts == 1
    assert server.requests[-1].mode == "tools"


async def test_a_length_that_is_too_much_is_an_error_and_no_parameter_to_leave_out() -> None:
    text = "max_tokens is too large: 70. This model supports at most 50 completion tokens."
    with FakeServer(refusal=lambda request: (400, text)) as server:
        error, _ = await fail(block(server), RefusedError)
    assert "too large" in error and all(request.body["max_tokens"] == 70 for request in server.requests)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Jinja Exception: System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Jinja Exception: System messages are not allowed."),
        (400, "role 'system' is not supported for this model"),
        (400, "This model does not support system messages"),
        (400, "Only user and assistant roles are supported!"),
        (500, "Only user, assistant and tool roles are supported, got system."),
        (422, "messages[0].role: unknown variant `system`, expected `user` or `assistant`"),
        (400, "messages[0].role: Input should be 'user' or 'assistant'"),
        (422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "permitted: 'user', 'assistant'"}]}),
    ],
)
async def test_a_server_whose_template_knows_no_system_is_sent_one_message_from_then_on(
    status: int, said: str | dict[str, Any]
) -> None:
    def refusing(request: ChatRequest) -> tuple[int, str | dict[str, Any]] | None:
        system = any(message["role"] == "system" for message in request.messages)
        return (status, said) if system else None

    with FakeServer(answer=lambda request: GOOD, refusal=refusing) as server:
        opinion, first = await put(block(server))
        _, second = await put(block(server))
    assert opinion == OPINION and (first.attempts, second.attempts) == (2, 1)
    assert {request.mode for request in server.requests} == {"json_schema"}
    assert [len(request.messages) for request in server.requests] == [2, 1, 1]


async def test_a_model_without_roles_is_sent_one_message() -> None:
    with FakeServer(answer=lambda request: GOOD, faults=["cut_json"]) as server:
        opinion, call = await put(block(server, chat_roles=False), pictures=[str(PICTURE)])
    assert opinion == OPINION and call.repaired
    for request in server.requests:
        (message,) = request.messages
        assert message["role"] == "user"
        assert sum(part["type"] == "image_url" for part in message["content"]) == 1
    assert "A small left pleural effusion." in server.requests[0].text


async def test_a_model_whose_server_only_binds_it_can_be_told_the_schema_in_each_prompt() -> None:
    with FakeServer(answer=lambda request: GOOD) as server:
        _, unlike = await put(block(server))
        _, call = await put(block(server, schema_in_prompt=True))
    silent, told = server.requests
    assert "additionalProperties" not in silent.text and "additionalProperties" in told.text
    assert silent.mode == told.mode == "json_schema" and unlike.fingerprint != call.fingerprint


async def test_a_model_that_sees_no_pictures_is_sent_none() -> None:
    with FakeServer(answer=lambda request: GOOD) as server:
        await put(block(server, pictures=False), pictures=[str(PICTURE)])
    assert isinstance(server.requests[0].messages[-1]["content"], str)


def test_a_parameter_that_an_integration_would_pass_over_is_refused(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text("{}")
    context = ModelSettings.model_validate(
        {"model": {"mine": {"spec": f"hf:{tmp_path}", "reasoning_effort": "high"}}, "models": {"default": "mine"}}
    )
    with pytest.raises(ModelSpecError, match=r"model\.mine.reasoning_effort: not accepted by HfChat; remove it"):
        build_model("mine", context)


@pytest.mark.parametrize(
    ("model", "extra"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("google_genai:gemini-2.5-flash", "google"),
        ("ollama:llama3.2", "ollama"),
    ],
)
def test_a_provider_whose_package_is_missing_is_told_by_its_extra(
    model: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("no such package")

    monkeypatch.setattr("langchain.chat_models.init_chat_model", missing)
    with pytest.raises(ModelSpecError, match=rf"{model} needs the extra `{extra}`: pip install 'wardround\[{extra}\]'"):
        build_model(model, ModelSettings(models={"default": model}))


def test_the_seed_goes_to_every_provider_that_takes_one_and_the_others_are_named() -> None:
    specs = ["openai:a", "mistralai:b", "groq:c", "anthropic:d", "offline"]
    settings = ModelSettings(models={"default": specs[0]}, seed=11)
    models = dict(zip("abcde", specs, strict=True))
    assert without_seed(models, settings) == ["anthropic:d"]
    assert without_seed(models, ModelSettings(models={"default": specs[0]})) == []
    sent = {spec: _parameters(settings.block(spec), settings, ()) for spec in specs[:4]}
    assert [sent[spec].get("seed") for spec in specs[:4]] == [11, 11, None, None]
    assert sent["groq:c"]["extra_body"] == {"seed": 11} and "extra_body" not in sent["anthropic:d"]
    assert "extra_body" not in _parameters(settings.block("groq:c"), settings, ("seed",))
