"""Typed answers from chat models: one client per spec and event loop, retries, negotiation of the answer form."""

import asyncio
import json
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from models.errors import ModelError, ModelSpecError
from models.settings import ModelSettings
from models.spec import ModelSpec

# How a typed answer is asked for, from the strictest on; a server that refuses one is asked in the next.
FORMS = ("json_schema", "tool", "text")
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_FIRST_WAIT = 0.25
_LONGEST_OWN_WAIT = 20.0
_LONGEST_WAIT = 60.0


@dataclass
class Reply:
    """What came back: the raw text or tool arguments, and what it took to get it."""

    text: str
    form: str
    attempts: int
    input_tokens: int = 0
    output_tokens: int = 0


class EmptyReplyError(RuntimeError):
    """The server answered without a choice."""


@dataclass
class ChatClient:
    """A chat model and the form of typed answer that its server was found to support."""

    spec: ModelSpec
    model: BaseChatModel
    form: str = FORMS[0]
    _bound: dict[tuple[str, str], Runnable[Any, Any]] = field(default_factory=dict)

    @cached_property
    def _openai_compatible(self) -> bool:
        from langchain_openai.chat_models.base import BaseChatOpenAI

        return isinstance(self.model, BaseChatOpenAI)

    async def ask(
        self,
        messages: list[BaseMessage],
        *,
        name: str,
        schema: dict[str, Any],
        instruction: str,
        settings: ModelSettings,
    ) -> Reply:
        """Ask for an answer of the schema, in the strictest form that the server takes.

        Args:
            messages: the rendered prompt.
            name: the answer type's name.
            schema: its strict JSON schema.
            instruction: what is appended to the last message when the answer is asked for as JSON in text.
            settings: time-out and attempts.

        Raises:
            ModelError: no answer within the allowed attempts, or the server refuses every form.
        """
        attempts = 0
        refusals: list[str] = []
        for form in FORMS[FORMS.index(self.form) :]:
            runnable, sent = self._prepare(form, name, schema, messages, instruction)
            try:
                async for attempt in _retrying(settings):
                    with attempt:
                        attempts += 1
                        message = await _one_request(runnable, sent, settings.timeout)
            except Exception as error:
                if _status(error) in (400, 404, 422, 501) and form != FORMS[-1]:
                    refusals.append(f"{form}: {_brief(error)}")
                    continue
                detail = "; ".join([*refusals, _brief(error)])
                reason = f"{self.spec.name}: no answer after {attempts} requests ({detail})"
                raise ModelError(reason, attempts) from error
            self.form = form
            usage = message.usage_metadata
            return Reply(
                text=_text_of(message),
                form=form,
                attempts=attempts,
                input_tokens=usage["input_tokens"] if usage else 0,
                output_tokens=usage["output_tokens"] if usage else 0,
            )
        raise AssertionError("the last form either answers or raises")

    def _prepare(
        self, form: str, name: str, schema: dict[str, Any], messages: list[BaseMessage], instruction: str
    ) -> tuple[Runnable[Any, Any], list[BaseMessage]]:
        if form == "text":
            return self.model, [*messages[:-1], _with_text(messages[-1], instruction)]
        key = (form, json.dumps(schema, sort_keys=True))
        if key not in self._bound:
            self._bound[key] = self._bind(form, name, schema)
        return self._bound[key], messages

    def _bind(self, form: str, name: str, schema: dict[str, Any]) -> Runnable[Any, Any]:
        if form == "json_schema" and self._openai_compatible:
            # As extra_body: the SDK's own structured output would rebuild and re-validate the schema on every call.
            response_format = {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}
            return self.model.bind(extra_body={"response_format": response_format})
        if form == "json_schema":
            titled = {"title": name, **schema}
            structured = self.model.with_structured_output(titled, method="json_schema", include_raw=True)
            return structured | _raw_message
        tool = {"type": "function", "function": {"name": name, "description": "The answer.", "parameters": schema}}
        return self.model.bind_tools([tool], tool_choice=name)


def _raw_message(output: Any) -> AIMessage:
    message: AIMessage = output["raw"]
    return message


_clients: dict[asyncio.AbstractEventLoop, dict[tuple[str, str], ChatClient]] = {}


def chat_client(spec: str, settings: ModelSettings) -> ChatClient:
    """The shared client of a spec in the running event loop (connections belong to a loop)."""
    for loop in list(_clients):
        if loop.is_closed():
            # Not weak keys: a client's open connections refer to its loop.
            _clients.pop(loop, None)
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    key = (spec, settings.model_dump_json(include={"temperature", "timeout", "max_tokens", "seed"}))
    if key not in clients:
        parsed = ModelSpec.parse(spec)
        clients[key] = ChatClient(parsed, build_model(parsed, settings))
    return clients[key]


def build_model(spec: ModelSpec, settings: ModelSettings) -> BaseChatModel:
    """The LangChain chat model of a spec.

    A server named by URL gets the key of WARDROUND_API_KEY, if that is set, and never the key of the provider's
    own service.

    Raises:
        ModelSpecError: the provider's package or its key is missing.
    """
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"temperature": settings.temperature, "timeout": settings.timeout, "max_retries": 0}
    if settings.max_tokens is not None:
        options["max_tokens"] = settings.max_tokens
    if settings.seed is not None and spec.provider in ("openai", "azure_openai"):
        options["seed"] = settings.seed
    if spec.base_url is not None:
        options["base_url"] = spec.base_url
        options["api_key"] = os.environ.get("WARDROUND_API_KEY") or "none"
    if spec.provider == "openai":
        import openai

        # LangChain's own client is shared by all event loops of the process, and its connections by none.
        options |= {"http_async_client": openai.DefaultAsyncHttpxClient(), "http_socket_options": ()}
    try:
        model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **options)
    except Exception as error:  # each integration raises its own kind when a package or a key is missing
        raise ModelSpecError(f"{spec.provider}:{spec.name} cannot be used: {_brief(error)}") from error
    return model


async def _one_request(runnable: Runnable[Any, Any], messages: list[BaseMessage], seconds: float) -> AIMessage:
    try:
        # The client's own time-out covers the gaps between bytes; this one covers the request.
        async with asyncio.timeout(seconds + 1):
            message = await runnable.ainvoke(messages)
    except (IndexError, KeyError, TypeError) as error:
        # What integrations raise on a body without choices.
        raise EmptyReplyError(f"the server answered without a choice ({error})") from error
    if not isinstance(message, AIMessage):
        raise EmptyReplyError(f"the server answered with {type(message).__name__}")
    return message


def _retrying(settings: ModelSettings) -> AsyncRetrying:
    return AsyncRetrying(
        retry=retry_if_exception(_is_transient),
        stop=stop_after_attempt(settings.max_attempts),
        wait=_wait,
        reraise=True,
    )


def _is_transient(error: BaseException) -> bool:
    """Whether asking again can help: the server is busy, failing or unreachable, or sent nothing."""
    status = _status(error)
    if status is not None:
        return status in (408, 409, 425, 429) or (status >= 500 and status != 501)
    if isinstance(error, EmptyReplyError | TimeoutError | ConnectionError):
        return True
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    return "Timeout" in names or "Connection" in names or "TransportError" in names


def _wait(state: RetryCallState) -> float:
    """Seconds until the next attempt: what the server asked for, or an exponential with jitter."""
    error = state.outcome.exception() if state.outcome else None
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        asked = float(headers.get("retry-after-ms", "nan")) / 1000
        if asked != asked:
            asked = float(headers.get("retry-after", "nan"))
    except ValueError:
        asked = float("nan")
    if asked == asked:
        return min(max(asked, 0.0), _LONGEST_WAIT)
    doubled = _FIRST_WAIT * 2 ** min(state.attempt_number - 1, 10)
    return float(min(doubled, _LONGEST_OWN_WAIT) * random.uniform(0.75, 1.25))


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _brief(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) >= 8:
            text = text.replace(value, f"<{name}>")  # some servers quote the key they refuse
    return f"{type(error).__name__}: {text[:300]}" if not text.startswith(type(error).__name__) else text[:300]


def _text_of(message: AIMessage) -> str:
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    if message.invalid_tool_calls:
        return message.invalid_tool_calls[0]["args"] or ""
    return message.text or str(message.additional_kwargs.get("refusal") or "")


def _with_text(message: BaseMessage, addition: str) -> BaseMessage:
    if isinstance(message.content, str):
        content: Any = f"{message.content}\n\n{addition}"
    else:
        content = [*message.content, {"type": "text", "text": addition}]
    return message.model_copy(update={"content": content})


def find_json(text: str) -> Any:
    """The JSON object in a reply: bare, fenced or surrounded by prose, after any thinking aloud.

    A broken object is never completed, and of two different ones none is chosen: a cut answer is not an answer.

    Raises:
        ValueError: there is no complete JSON object, or more than one.
    """
    if text.lstrip().startswith("{"):
        parts = [text]
    else:
        answer = text.rpartition("</think>")[2]
        parts = _FENCE.findall(answer) or [answer]
    found = [value for part in parts for value in _objects(part)]
    if not found:
        raise ValueError(f"the reply holds no JSON object: {text[:200]!r}")
    if any(value != found[0] for value in found[1:]):
        raise ValueError("the reply holds more than one JSON object")
    return found[0]


def _objects(text: str) -> Iterator[Any]:
    end = 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except RecursionError:
            raise ValueError("the JSON object is nested too deeply") from None
        yield value
