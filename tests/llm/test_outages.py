"""Servers that take no question at all, and servers that go away for a while."""

import asyncio
import logging
from contextlib import closing
from typing import Any

import pytest

from llm import ModelError, ModelSettings, RefusedError, ask
from llm.errors import ContextLengthError
from llm.failed_requests import is_too_long, refusal
from llm.throttle import throttles
from tests.llm.examinee import EXAMINEE, GOOD, OPINION, View, put, served
from tests.support.fake_server import ChatRequest, FakeServer, Fault


@pytest.fixture(autouse=True)
def _looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.throttle._FIRST_PAUSE", 0.02)
    monkeypatch.setattr("llm.throttle._LONGEST_PAUSE", 0.05)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("401", "the API key is not accepted"),
        ("400_key", "the API key is not accepted"),
        ("402", "payment is required"),
        ("403", "access is denied"),
        ("407", r"the proxy \(HTTPS_PROXY or HTTP_PROXY\) wants another name and password"),
        ("no_model", "it does not have this model"),
        ("no_quota", "the quota is used up"),
    ],
)
async def test_a_server_that_takes_no_question_is_asked_once_and_says_why(fault: Any, why: str) -> None:
    with FakeServer(faults=[fault] * 9) as server, pytest.raises(RefusedError, match=f"refuses all questions: {why}"):
        await put(served(server))
    assert len(server.requests) == 1


async def test_a_server_that_refuses_its_first_question_in_every_form_alike_answers_none() -> None:
    """Four requests, and not as many for every case."""
    refusals: list[str] = []

    def refused(request: ChatRequest) -> tuple[int, str] | None:
        refusals.append(request.mode)
        return (400, "No such tenant.") if len(refusals) < 9 else None

    with FakeServer(refusal=refused) as server:
        for _ in range(2):
            with pytest.raises(RefusedError, match=r"in every form with the same message.*No such tenant"):
                await put(served(server))
        assert refusals == ["json_schema", "json_object", "tools", "text"] * 2
        await put(served(server))  # nothing is held against its forms
        refusals.clear()
        with pytest.raises(ModelError):
            await put(served(server))


async def test_a_key_that_litellm_cannot_look_up_is_said_to_be_one() -> None:
    asked: list[str] = []

    def refused(request: ChatRequest) -> tuple[int, str]:
        asked.append(request.mode)
        return 400, "No connected db."

    with FakeServer(refusal=refused) as server, pytest.raises(RefusedError, match="the API key is not accepted"):
        await put(served(server))
    assert asked == ["json_schema"]


@pytest.mark.parametrize(
    "said",
    [
        "Your prompt was flagged",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "Output data may contain inappropriate content.",  # DashScope
        "系统检测到输入或生成内容可能包含不安全或敏感内容",  # Zhipu
        "unsupported: {mode}",
    ],
)
async def test_a_first_question_that_is_refused_for_itself_or_its_form_stops_nobody(said: str) -> None:
    with FakeServer(refusal=lambda request: (400, said.format(mode=request.mode))) as server, pytest.raises(ModelError):
        await put(served(server))


@pytest.mark.parametrize("said", ["too_long", "no_room"])
async def test_a_prompt_that_is_too_long_is_asked_once_and_is_a_failure_of_its_own(said: Fault) -> None:
    with FakeServer(faults=[said] * 9) as server, pytest.raises(ContextLengthError) as raised:
        await put(served(server))
    assert len(server.requests) == 1 and raised.value.reason == "context_length"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        (400, "the request exceeds the available context size. try increasing the context size"),
        (500, "Requested tokens (2603) exceed context window of 2048"),
        (400, "the input length exceeds the context length"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "上下文长度不足（prompt too long）：对话内容超过当前模型或 KV 缓存允许的长度。"),
        (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
        (400, "InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),  # DashScope
        (400, "Invalid request: Your request exceeded model token limit: 8192"),  # Moonshot
        (400, "Prompt 超长"),  # Zhipu
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),  # TGI
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),  # xAI
        (400, "prompt token count of 12345 exceeds the limit of 8192"),  # Copilot
        (400, "invalid params, context window exceeds limit (2013)"),  # MiniMax
        (400, "tokens to keep from the initial prompt is greater than the context length"),  # LM Studio
        (500, "However, the model is loaded with context length of only 4096 tokens"),  # LM Studio, with a 200
        (500, "Context size has been exceeded."),
        (400, "Prompt tokens (9000) exceeds context size (8192)"),
        (400, "The decoder prompt (length 2500) is longer than the maximum model length of 2048."),  # vLLM
        (400, "you passed 2500 input tokens. However, the model's context length is only 2048 tokens"),  # vLLM
        (400, "Total tokens of image and text exceed max message tokens."),  # Volcengine
        (400, "model_context_window_exceeded"),  # Zhipu
        (400, "Input tokens exceed the configured limit of 272000 tokens."),  # OpenAI
        (400, "Your input exceeds the model's context window."),  # OpenAI
        (400, "max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)"),  # vLLM
        (400, "Input is too long for requested model."),  # Bedrock
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."),  # Cohere
        (400, "length of prompt_tokens (40000) must be less than max_seq_len (32768)."),  # SiliconFlow
        (503, "litellm.ServiceUnavailableError: Requested token count exceeds the model's maximum context length"),
    ],
)
def test_servers_say_differently_that_a_prompt_is_too_long(status: int, said: str) -> None:
    error = RuntimeError(said)
    error.status_code = status  # type: ignore[attr-defined]
    assert is_too_long(error) and not is_too_long(RuntimeError(said)) and refusal(error) is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "max_tokens exceeds the limit of 8192"),
        (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
        (400, "max_tokens must not be greater than the context length"),
        (400, "image exceeds the maximum size"),
        (400, "The number of images in the prompt tokens exceeds the limit"),
        (400, "This response_format type is unavailable now"),
        (500, "prompt length 200; deadline exceeded"),
        (500, "input tokens per minute limit exceeded"),
        (503, "input token count limit exceeded, overloaded"),
        (400, "max_tokens must be at least 1, got 0."),
        (429, "Too many tokens, please wait before trying again."),  # Bedrock
    ],
)
def test_what_is_too_large_but_no_prompt_is_not_taken_for_one(status: int, said: str) -> None:
    error = RuntimeError(said)
    error.status_code = status  # type: ignore[attr-defined]
    assert not is_too_long(error)


def test_servers_say_differently_that_they_have_no_such_model() -> None:
    for status, said in [
        (400, "Only vicuna-7b && smollm allowed now, your model other"),  # FastChat
        (400, "/chat/completions: Invalid model name passed in model=other"),  # LiteLLM
        (404, "The model `other` does not exist."),
        (400, "other is not a valid model ID"),  # OpenRouter
        (404, "No endpoints found for other."),
        (404, "No endpoints found matching your data policy (Free model publication)."),
        (404, "The API deployment for this resource does not exist."),  # Azure
        (400, "The model `other` has been decommissioned and is no longer supported."),  # Groq
        (410, "The model 'other' has reached its end of life on 2026-01-01"),  # NVIDIA
        (400, "Unable to access non-serverless model other. Please visit ..."),  # Together
        (400, "The dedicated endpoint for other is not running."),
        (404, "No models loaded. Please load a model in the developer page"),  # LM Studio
    ]:
        error = RuntimeError(said)
        error.status_code = status  # type: ignore[attr-defined]
        assert refusal(error) == "it does not have this model"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "No endpoints found that support image input"),
        (404, "No endpoints found that can handle the requested parameters."),
        (400, "`temperature` for this model has been deprecated."),
        (500, "The model `any` has been removed from the GPU; try again"),
    ],
)
def test_what_a_server_does_not_take_of_a_request_is_not_held_against_its_model(status: int, said: str) -> None:
    error = RuntimeError(said)
    error.status_code = status  # type: ignore[attr-defined]
    assert refusal(error) is None


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (400, "Your credit balance is too low to access the Anthropic API.", "payment is required"),
        (400, {"error": {"message": "Access denied.", "code": "Arrearage"}}, "payment is required"),  # DashScope
        (400, "Budget has been exceeded! Current cost: 26.075, Max budget: 0.25", "payment is required"),  # LiteLLM
        (429, {"error": {"message": "User: one", "type": "budget_exceeded"}}, "payment is required"),  # LiteLLM
        (
            404,
            "This is not a chat model and thus not supported in v1/chat/completions.",
            "it does not serve this model",
        ),
        (404, "This model is only supported in v1/responses.", "it does not serve this model for chats"),
        (400, '"nomic-embed-text" does not support chat', "it does not serve this model for chats"),  # Ollama
        (500, "model requires more system memory (7.5 GiB) than is available", "it has too little memory"),
        (405, "Method Not Allowed", "nothing is served at this address; base URLs mostly end with /v1"),
        (200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "nothing is served at this"),
        (429, {"error": {"message": "Suspended.", "type": "exceeded_current_quota_error"}}, "the quota is used up"),
        (429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000", "the quota is used up"),
        (429, "Your account reached max request per day (RPD): 100, please try again later", "the quota is used up"),
        (
            429,
            "Rate limit of 150 per 86400s exceeded. Please wait 54321 seconds before",
            "it asks to wait for 15.1 hours",
        ),
    ],
)
async def test_a_server_that_will_answer_nothing_more_ends_the_run_also_after_it_has_answered(
    status: int, said: Any, why: str
) -> None:
    with FakeServer(answer=lambda _: GOOD, refusal=lambda one: (status, said) if one.index else None) as server:
        await put(served(server))
        with pytest.raises(RefusedError, match=f"openai:any@{server.base_url} refuses all questions: {why}"):
            await put(served(server))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Content Exists Risk"),  # DeepSeek
        (400, "The request was rejected because it was considered high risk"),  # Moonshot
        (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),  # xAI
    ],
)
async def test_a_prompt_that_a_filter_refuses_ends_its_case_alone(status: int, said: str) -> None:
    with FakeServer(
        answer=lambda _: GOOD, refusal=lambda one: (status, said) if "bomb" in one.text else None
    ) as server:
        with pytest.raises(ModelError, match=said):
            await ask(EXAMINEE, View("a bomb"), served(server), language="en")
        _, call = await put(served(server))
    assert (call.attempts, call.form) == (1, "json_schema"), "nothing is held against the form"
    assert len(server.requests) == (3 if status == 400 else 2), "what is flagged twice is not sent in every form"


async def test_a_refused_value_of_a_parameter_is_named() -> None:
    text = "Input validation error: `temperature` must be strictly positive"  # TGI
    why = "it refuses the temperature in every form; set another"
    with FakeServer(refusal=lambda _: (422, text)) as server, pytest.raises(RefusedError, match=why):
        await put(served(server))


@pytest.mark.parametrize(
    "said", ["The model has crashed without additional information. (Exit code: 1)", "Model unloaded."]
)
async def test_a_model_that_went_away_is_asked_again_in_the_same_form(said: str) -> None:
    """LM Studio reports it with a 400."""
    with FakeServer(answer=lambda _: GOOD, refusal=lambda one: None if one.index else (400, said)) as server:
        _, call = await put(served(server))
    assert (call.attempts, call.form) == (2, "json_schema")


@pytest.mark.parametrize("fault", ["429", "500"])
async def test_a_busy_or_failing_server_may_answer_the_next_question(fault: Any) -> None:
    with FakeServer(faults=[fault] * 90) as server, pytest.raises(ModelError):
        await put(served(server, max_attempts=2))


@pytest.mark.slow
async def test_a_server_that_goes_away_is_waited_for_and_no_question_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer(latency=0.05)
    server.start()
    settings = served(server, max_attempts=3, timeout=1, max_connections=8)
    await put(settings)
    several = [ask(EXAMINEE, View(f"report {number}"), settings, language="en") for number in range(20)]
    asked = asyncio.gather(*several)
    await asyncio.sleep(0.02)  # eight are under way
    with caplog.at_level(logging.WARNING):
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(0.3)
        (snapshot,) = (found for name, found in throttles().items() if server.base_url in name)
        assert snapshot.allowance == 1 and not asked.done()
        again = FakeServer(port=server.port)
        with again:
            assert len(await asked) == 20
    assert "does not answer; the run waits up to" in caplog.text and "answers again after" in caplog.text
    (snapshot,) = (found for name, found in throttles().items() if server.base_url in name)
    assert snapshot.allowance == 8, "all may ask again at once"


class Tunnel(FakeServer):
    """A tunnel that answers for itself with a page of status 404 while its server is away."""

    away = 0

    async def _reply(self, request: ChatRequest, response: Any) -> None:
        if not self.away:
            return await super()._reply(request, response)
        self.away -= 1
        return await response.send(404, "<html>offline</html>", {"Ngrok-Error-Code": "ERR_NGROK_3200"})


async def test_a_tunnel_whose_server_is_away_is_waited_for_once_it_has_answered() -> None:
    with Tunnel(answer=lambda _: GOOD) as server:
        await put(served(server))
        server.away = 9
        _, call = await put(served(server, max_attempts=2))
        assert (call.attempts, call.form) == (10, "json_schema")
    with Tunnel() as other, pytest.raises(RefusedError, match="nothing is served at this address"):
        other.away = 99
        await put(served(other, max_attempts=2))


@pytest.mark.parametrize("status", [521, 530])
async def test_a_server_that_is_away_behind_cloudflare_is_waited_for(status: int) -> None:
    with FakeServer(refusal=lambda one: (status, "error code: 1033") if 0 < one.index < 9 else None) as server:
        await put(served(server))
        _, call = await put(served(server, max_attempts=2))
    assert call.attempts == 9


async def test_a_server_that_is_loading_its_model_is_waited_for_before_it_has_ever_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm.throttle._FIRST_PAUSE", 0.01)
    asked: list[int] = []

    def loading(request: ChatRequest) -> tuple[int, dict[str, Any]] | None:
        asked.append(1)
        said = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
        return (503, said) if len(asked) <= 12 else None

    with FakeServer(refusal=loading) as server:
        settings = served(server, max_attempts=2)
        calls = await asyncio.gather(*(ask(EXAMINEE, View(f"report {n}"), settings, language="en") for n in range(3)))
        assert len(calls) == 3 and len(asked) == 15


async def test_an_answer_that_a_filter_takes_back_is_asked_for_again() -> None:
    """DashScope refuses what its own model wrote; text is the last form."""
    written: list[int] = []

    def filtered(request: ChatRequest) -> tuple[int, str] | None:
        if request.mode != "text":
            return 400, f"unsupported: {request.mode}"
        written.append(1)
        return (400, "Output data may contain inappropriate content.") if len(written) < 3 else None

    with FakeServer(refusal=filtered, answer=lambda request: GOOD) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.form == "text"


async def test_a_single_502_of_a_proxy_is_waited_out_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with FakeServer(faults=[None, "502"]) as server, caplog.at_level(logging.WARNING):
        await put(served(server))
        _, call = await put(served(server))
    assert call.attempts == 2 and not caplog.records


async def test_a_server_that_is_away_for_too_long_is_given_up() -> None:
    with FakeServer() as server:
        settings = served(server, max_attempts=2, max_outage=0.1)
        await put(settings)
    with pytest.raises(ModelError, match="Connection"):
        await put(settings)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "Service Unavailable"),
        (500, "litellm.InternalServerError: OpenAIException - Connection error."),
        (500, "AnthropicException - Cannot connect to host 10.0.0.1:80 [Connect call failed]"),
        (500, "upstream connect error or disconnect/reset before headers"),
    ],
)
async def test_a_proxy_without_its_server_is_waited_for_too(status: int, said: str) -> None:
    asked: list[int] = []

    def without(request: ChatRequest) -> tuple[int, str] | None:
        asked.append(request.index)
        return (status, said) if 1 < len(asked) < 7 else None

    with FakeServer(refusal=without) as server:
        settings = served(server, max_attempts=1)
        await put(settings)
        _, call = await put(settings)
    assert call.attempts == 6


async def test_a_server_that_starts_behind_a_gateway_loses_no_form_by_it() -> None:
    asked: list[str] = []

    def without(request: ChatRequest) -> tuple[int, str] | None:
        asked.append(request.mode)
        return (500, "litellm.InternalServerError: OpenAIException - Connection error.") if len(asked) < 5 else None

    with FakeServer(refusal=without) as server:
        _, call = await put(served(server))
    assert (call.form, asked) == ("json_schema", ["json_schema"] * 5)


async def test_a_fault_after_an_outage_is_waited_for_as_a_first_one() -> None:
    """And not as if each look whether the server was back had been a fault of the question."""
    with FakeServer(faults=[None, *["503"] * 12, "500"]) as server:
        for _ in range(2):
            await put(served(server))
    fault, after = server.requests[-2:]
    assert (fault.status, after.status) == (500, 200)
    assert after.time_in - (fault.time_out or 0.0) < 8


async def test_a_tunnel_that_stays_open_without_its_server_is_waited_for_too() -> None:
    """As `ssh -L` does: the local port goes on taking connections, and closes each at once."""
    closed = asyncio.Event()

    async def pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while not closed.is_set() and (data := await source.read(65536)):
            target.write(data)
        target.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if closed.is_set():
            return writer.close()
        there, back = await asyncio.open_connection("127.0.0.1", server.port)
        passing = [*map(asyncio.create_task, (pipe(reader, back), pipe(there, writer), closed.wait()))]
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for each in passing:
            each.cancel()
        back.close()
        writer.close()

    # Since Python 3.12, `async with` also waits for connections that a client keeps open.
    with FakeServer() as server, closing(await asyncio.start_server(tunnel, "127.0.0.1", 0)) as opened:
        url = f"http://127.0.0.1:{opened.sockets[0].getsockname()[1]}/v1"
        settings = ModelSettings(models={"default": f"openai:fake@{url}"}, max_attempts=2)
        await put(settings)
        closed.set()
        asked = asyncio.create_task(ask(EXAMINEE, View("another report"), settings, language="en"))
        await asyncio.sleep(1.5)  # longer than two attempts take
        assert not asked.done()
        closed.clear()
        await asked


@pytest.mark.parametrize("status", [400, 500])
async def test_a_server_that_has_only_refused_a_form_so_far_is_waited_for(status: int) -> None:
    """As llama-cpp-python's, killed during its first answer."""
    server = FakeServer(supports=["json_object"], refuses_with=status, latency=30.0)
    server.start()
    asked = asyncio.create_task(put(served(server, max_attempts=2, timeout=40)))
    while len(server.requests) < 2:  # noqa: ASYNC110 - they are added by another thread
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(0.7)  # longer than two attempts take
    assert not asked.done()
    with FakeServer(supports=["json_object"], refuses_with=status, port=server.port):
        await asked


async def test_requests_that_find_a_server_down_that_is_up_a_moment_later_are_no_failures_of_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [False, True, True, True]
    server = FakeServer(supports=["json_object"], refuses_with=400, latency=30.0)
    server.start()
    asked = asyncio.create_task(put(served(server, max_attempts=2, timeout=40)))
    while len(server.requests) < 2:  # noqa: ASYNC110 - they are added by another thread
        await asyncio.sleep(0.01)

    async def is_there(url: str) -> bool:
        return looks.pop(0) if looks else False

    monkeypatch.setattr("llm.failed_requests.is_there", is_there)
    await asyncio.to_thread(server.stop)
    while looks and not asked.done():  # noqa: ASYNC110 - the requests take them
        await asyncio.sleep(0.05)
    assert not asked.done()
    with FakeServer(supports=["json_object"], refuses_with=400, port=server.port):
        await asked


async def test_a_proxy_that_refuses_a_form_while_the_server_behind_it_is_down_is_not_waited_for() -> None:
    def refused(request: ChatRequest) -> tuple[int, str]:
        return (503, "no healthy upstream") if request.mode == "text" else (400, f"unsupported: {request.mode}")

    with FakeServer(refusal=refused) as server, pytest.raises(ModelError, match="no healthy upstream"):
        await asyncio.wait_for(put(served(server, max_attempts=2)), 10)


async def test_a_server_that_has_never_answered_is_not_waited_for() -> None:
    with FakeServer() as server:
        settings = served(server, max_attempts=2)
    with pytest.raises(ModelError, match="after 2 requests"):
        await put(settings)


async def test_a_question_that_breaks_its_connection_while_the_server_is_there_is_not_asked_for_ever() -> None:
    with FakeServer(faults=[None, *["disconnect"] * 9]) as server:
        settings = served(server, max_attempts=3)
        await put(settings)
        with pytest.raises(ModelError, match="after 3 requests"):
            await put(settings)
