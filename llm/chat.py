"""Typed answers from chat models: one client per spec and event loop, retries, the strictest form that is taken."""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from llm.egress import stay_with_host_async, stays
from llm.errors import ModelError, ModelSpecError
from llm.forms import FORMS, PLAIN, TOLD, FormRefusedError, Forms, forms_of
from llm.objects import OBJECT, object_of
from llm.question import Question
from llm.replies import text_of
from llm.retries import EmptyReplyError, Patience, brief, is_too_many, retry_after, retrying
from llm.settings import ModelSettings
from llm.specs import IN_PROCESS, ModelSpec
from llm.throttle import throttle_of
from llm.tracing import untraced


@dataclass
class Reply:
    """What came back: the raw text or tool arguments, the tokens it took, and whether that is a refusal."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    refused: bool = False


@dataclass
class ChatClient:
    """A chat model, and what is known of the forms that its server takes."""

    spec: ModelSpec
    model: BaseChatModel
    forms: Forms
    _bound: dict[tuple[str, str], Runnable[Any, Any]] = field(default_factory=dict)

    @cached_property
    def _openai_compatible(self) -> bool:
        from langchain_openai.chat_models.base import BaseChatOpenAI

        return isinstance(self.model, BaseChatOpenAI)

    @cached_property
    def own_forms(self) -> tuple[str, ...]:
        """A model in this process, or one that binds no tools, knows no other form, and nobody would refuse one."""
        if self.spec.provider == IN_PROCESS or type(self.model).bind_tools is BaseChatModel.bind_tools:
            return (PLAIN,)
        return FORMS if self._openai_compatible else tuple(form for form in FORMS if form != "json_object")

    async def ask(self, question: Question[Any], settings: ModelSettings, patience: Patience) -> Reply:
        """Ask for an answer of the question's schema, in the strictest form that the server takes.

        Args:
            question: what is asked, and for which schema.
            settings: the time-out of a request, and how many the server gets at once.
            patience: how many requests may fail; it counts all that are sent.

        Raises:
            ModelError: no answer within the allowed attempts, or the server refuses every form.
        """
        refusals: dict[str, str] = {}
        faults: list[str] = []
        counts = (0, 0)
        forms = self.forms.of(question.name) if question.schema else [PLAIN]  # plain words need no form
        for form in (form for form in forms if form in self.own_forms):
            try:
                runnable, sent = self._prepare(form, question)
                async for attempt in retrying(patience):
                    with attempt, self.forms.refusing(form, faults):
                        message = await self._send(runnable, sent, settings, patience)
            except FormRefusedError as error:
                refusals[form] = str(error)
                continue
            except Exception as error:
                detail = "; ".join([*(f"{form}: {why}" for form, why in refusals.items()), brief(error)])
                raise ModelError(f"{self.spec.name}: no answer after {patience.sent} requests ({detail})") from error
            if usage := message.usage_metadata:
                counts = (counts[0] + usage["input_tokens"], counts[1] + usage["output_tokens"])
            # A question that tells the schema in words is no proof of the form.
            if question.schema and not question.told and self.forms.is_ignored(form, message, question.schema):
                refusals[form] = "passed over"
                continue
            self.forms.refused |= {(refused, question.name) for refused in refusals}
            return Reply(text_of(message), *counts, refused=bool(message.additional_kwargs.get("refusal")))
        raise AssertionError("the last form either answers or raises")

    async def _send(
        self, runnable: Runnable[Any, Any], messages: list[BaseMessage], settings: ModelSettings, patience: Patience
    ) -> AIMessage:
        most = 1 if self.spec.provider == IN_PROCESS else settings.max_connections
        throttle = throttle_of(self.spec, most)
        async with throttle.slot() as sent:  # the wait for it is not the request's
            patience.sent += 1
            try:
                message = await _one_request(runnable, messages, settings.timeout)
            except Exception as error:
                patience.failed(error)
                if is_too_many(error):
                    throttle.refused(sent, retry_after(error))
                raise
            throttle.succeeded()
        return message

    def _prepare(self, form: str, question: Question[Any]) -> tuple[Runnable[Any, Any], list[BaseMessage]]:
        messages = question.messages
        if question.instruction and (form in TOLD or question.told):
            messages = [*messages[:-1], _with_text(messages[-1], question.instruction)]
        if form == PLAIN:
            return self.model, messages
        key = (form, json.dumps(question.schema, sort_keys=True))
        if key not in self._bound:
            self._bound[key] = self._bind(form, question.name, question.schema)
        return self._bound[key], messages

    def _bind(self, form: str, name: str, schema: dict[str, Any]) -> Runnable[Any, Any]:
        if form != "tool" and self._openai_compatible:
            # As extra_body: the SDK's own structured output would rebuild and re-validate the schema on every call.
            strict = {"json_schema": {"name": name, "schema": schema, "strict": True}}
            response_format = {"type": form, **(strict if form == "json_schema" else {"schema": schema})}
            return self.model.bind(extra_body={"response_format": response_format})
        if form == "json_schema":
            titled = {"title": name, **schema}
            try:
                structured = self.model.with_structured_output(titled, method="json_schema", include_raw=True)
            except (NotImplementedError, ValueError) as error:
                raise FormRefusedError(brief(error)) from error
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
        clients[key] = ChatClient(parsed, build_model(parsed, settings), forms_of(parsed))
    return clients[key]


def build_model(spec: ModelSpec, settings: ModelSettings) -> BaseChatModel:
    """The LangChain chat model of a spec.

    A server named by URL gets the key of WARDROUND_API_KEY, if that is set, and never the key of the provider's
    own service, nor what the environment says about the user's account there.

    Raises:
        ModelSpecError: the provider's package or its key is missing, or a folder holds no model.
    """
    if spec.provider == OBJECT:
        return object_of(spec.name)
    if spec.provider == IN_PROCESS:
        from llm.local_weights import HfChat, check_folder

        check_folder(spec.name)
        limits = settings.model_dump(include={"temperature", "seed", "max_tokens", "timeout"})
        return HfChat(folder=spec.name, **limits)
    if not stays(spec.base_url):
        raise ModelSpecError(f"{spec.provider}:{spec.name}: --no-egress lets nothing leave; name a local server")
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"temperature": settings.temperature, "timeout": settings.timeout, "max_retries": 0}
    if settings.max_tokens is not None:
        options["max_tokens"] = settings.max_tokens
    if settings.seed is not None and spec.provider in ("openai", "azure_openai"):
        options["seed"] = settings.seed
    if spec.base_url is not None:
        options["base_url"] = spec.base_url
        options["api_key"] = os.environ.get("WARDROUND_API_KEY") or "none"
    if spec.provider in ("openai", "azure_openai"):
        import openai

        # LangChain's own client is shared by all event loops of the process, and its connections by none.
        http = openai.DefaultAsyncHttpxClient(event_hooks={"response": [stay_with_host_async]})
        options |= {"http_async_client": http, "http_socket_options": ()}
    try:
        model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **options)
    except Exception as error:  # each integration raises its own kind when a package or a key is missing
        raise ModelSpecError(f"{spec.provider}:{spec.name} cannot be used: {brief(error)}") from error
    if spec.base_url is not None or spec.provider not in ("openai", "azure_openai"):
        for client in (getattr(model, "root_client", None), getattr(model, "root_async_client", None)):
            if client is not None:
                without_account(client, getattr(model, "default_headers", None) or {})
    return model


def without_account(client: Any, headers: Mapping[str, str] | None = None) -> None:
    """Let an OpenAI client name nobody.

    It takes the headers with the user's organization and project at OpenAI, and others, from the environment, and no
    argument keeps it from sending them to another company's server.

    Args:
        client: the SDK's client.
        headers: what was given to it as headers of its own.
    """
    client.organization = client.project = None
    client._custom_headers = dict(headers or {})


async def _one_request(runnable: Runnable[Any, Any], messages: list[BaseMessage], seconds: float) -> AIMessage:
    try:
        # The client's own time-out covers the gaps between bytes; this one covers the request.
        async with asyncio.timeout(seconds + 1):
            message = await runnable.ainvoke(messages, untraced())
    except (IndexError, KeyError, TypeError) as error:
        # What integrations raise on a body without choices.
        raise EmptyReplyError(f"the server answered without a choice ({error})") from error
    if not isinstance(message, AIMessage):
        raise EmptyReplyError(f"the server answered with {type(message).__name__}")
    return message


def _with_text(message: BaseMessage, addition: str) -> BaseMessage:
    if isinstance(message.content, str):
        content: Any = f"{message.content}\n\n{addition}"
    else:
        content = [*message.content, {"type": "text", "text": addition}]
    return message.model_copy(update={"content": content})
