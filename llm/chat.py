"""Send questions to chat models: one client per spec and event loop, with retries, in the strictest form accepted."""

import asyncio
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from llm import failed_requests
from llm.build import build_model
from llm.errors import (
    LESS,
    TOO_LONG,
    AskError,
    BatchFileError,
    ContextLengthError,
    ModelError,
    OversizeReplyError,
    RateError,
    RefusedError,
)
from llm.events import tell
from llm.failed_requests import EmptyReplyError, ServerAwayError, brief, status_of
from llm.forms import (
    FORMS,
    PARAMETER,
    PLAIN,
    ROLES,
    TOLD,
    FormRefusedError,
    Forms,
    ParameterRefusedError,
    forms_of,
    is_blank,
    is_cut_off,
    is_declined,
    is_held_against_the_form,
    is_of_the_prompt,
)
from llm.masking import mask_chain
from llm.model_objects import OBJECT, object_of
from llm.question import Question
from llm.replies import LONGEST_TEXT, text_of
from llm.retries import Patience, retrying
from llm.scopes import in_this_loop
from llm.server_quirks import counted
from llm.settings import ModelSettings
from llm.specs import IN_PROCESS
from llm.throttle import Throttle, throttle_of
from llm.tracing import untraced

if TYPE_CHECKING:  # slow to import, and not needed to build a graph
    from langchain_core.language_models import BaseChatModel

_INVALID_REPLY = (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, zlib.error)
_PAGE = re.compile(r"<html|<!doctype", re.IGNORECASE)


@dataclass
class Reply:
    """A raw reply: text or tool arguments, and whether it is a refusal or cut off.

    ``full``: it was cut off before `max_tokens`, so the model's context is full.
    """

    text: str
    form: str = ""  # in which it was requested
    refused: bool = False
    cut: bool = False
    full: bool = False
    unseen: int = 0  # pictures that were left out because the server takes none


@dataclass
class _Tried:
    """The forms left for a question, the strictest first, and why those before them did not pass."""

    left: list[str]
    doubted: frozenset[str]  # forms that an earlier question found refused in odd words
    refusals: dict[str, str] = field(default_factory=dict)
    odd: set[str] = field(default_factory=set)  # refused in odd words for the first time
    faults: list[str] = field(default_factory=list)  # the server's 500s to this question

    def refused(self, why: str, *, odd: bool = False) -> None:
        """Go on to the next form."""
        form = self.left.pop(0)
        self.refusals[form] = why
        if odd:
            self.odd |= {form} - self.doubted


@dataclass
class ChatClient:
    """A chat model with what is known of its server: accepted forms and refused parameters."""

    name: str
    settings: ModelSettings
    forms: Forms = field(init=False)
    _models: "dict[frozenset[str], BaseChatModel]" = field(init=False)  # by the parameters left out
    _bound: dict[tuple[str, str, frozenset[str]], Runnable[Any, Any]] = field(default_factory=dict, init=False)
    _has_answered: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.block = self.settings.block(self.name)
        self.spec = self.block.parsed
        self.forms = forms_of(self.block)
        self._given = object_of(self.spec.name) if self.spec.provider == OBJECT else None
        self._models = {frozenset(): build_model(self.name, self.settings)}

    @cached_property
    def _openai_compatible(self) -> bool:
        from langchain_openai.chat_models.base import BaseChatOpenAI

        return isinstance(self._models[frozenset()], BaseChatOpenAI)

    @property
    def is_replaced(self) -> bool:
        """Whether another object with the same spec has been given since, such as one with a new key."""
        return self._given is not None and self._given is not object_of(self.spec.name)

    @cached_property
    def own_forms(self) -> tuple[str, ...]:
        """The forms that the client can send: plain text alone if the model runs in this process or binds no tools."""
        from langchain_core.language_models import BaseChatModel

        if self.spec.provider == IN_PROCESS or type(self._models[frozenset()]).bind_tools is BaseChatModel.bind_tools:
            return (PLAIN,)
        return FORMS if self._openai_compatible else tuple(form for form in FORMS if form != "json_object")

    async def ask(self, question: Question[Any], settings: ModelSettings, patience: Patience) -> Reply:
        """Ask for an answer of the question's schema, in the strictest form that the server accepts.

        Raises:
            ModelError: no answer within the allowed attempts, or the server refuses every form.
            RefusedError: the server will answer no question at all.
        """
        if self.forms.unbound:
            question = question.as_wide()
        forms = self.forms.of(question.name) if question.schema else [PLAIN]  # plain text needs no form
        tried = _Tried([form for form in forms if form in self.own_forms], self.forms.doubted(question.name))
        while tried.left:
            form = tried.left[0]
            without = frozenset(self.forms.left_out)
            pictures = 0 if self.forms.blind else question.pictures  # another question may find out meanwhile
            try:
                runnable, sent = self._prepare(form, question, without)
                async for attempt in retrying(patience):
                    with attempt, self.forms.refusing(form, without, tried.faults, pictures):
                        message = await self._send(runnable, sent, settings, patience)
            except ParameterRefusedError:
                continue
            except FormRefusedError as error:
                if question.wider is not None:  # perhaps only the narrowed schema is refused
                    self.forms.unbound |= is_held_against_the_form(str(error))
                    question = question.as_wide()
                    continue
                if is_of_the_prompt(str(error)) and str(error) in tried.refusals.values():
                    raise self._unanswered(str(error), tried.refusals, patience) from error  # twice: it will not pass
                tried.refused(str(error), odd=error.odd)
                continue
            except (RefusedError, ContextLengthError):
                raise
            except Exception as error:
                if why := self._refuses_all(error, tried.refusals):
                    raise self._refused(why, error) from error
                raise self._unanswered(brief(error), tried.refusals, patience) from error
            if is_blank(form, message, question.schema):
                tried.refused("an empty object", odd=True)
                continue
            # If the prompt spells out the schema, an answer that fits does not prove that the form was obeyed.
            if question.schema and not question.told and self.forms.is_ignored(form, message, question.schema):
                tried.refused("ignored")
                continue
            self.forms.remember(form, question.name, tried.refusals, tried.odd)
            cut = is_cut_off(message)
            return Reply(
                text_of(message),
                form,
                refused=is_declined(message),
                cut=cut,
                full=cut and self._is_full(message, settings),
                unseen=question.pictures - pictures,
            )
        raise AssertionError("the last form either answers or raises")

    def _is_full(self, message: AIMessage, settings: ModelSettings) -> bool:
        most = self.block.max_tokens or settings.max_tokens or 0
        usage = message.usage_metadata
        return usage is not None and 0 < usage["output_tokens"] < most

    def _unanswered(self, why: str, refusals: Mapping[str, str], patience: Patience) -> ModelError:
        others = [f"{form}: {refusal}" for form, refusal in refusals.items()]
        reasons = "; ".join([*others, why]) if {*refusals.values()} != {why} else f"in each form: {why}"
        requests = f"{patience.sent} request{'s' * (patience.sent != 1)}"
        return ModelError(f"{self.spec.name}: no answer after {requests} ({reasons})")

    def _refused(self, why: str, error: Exception) -> RefusedError:
        return RefusedError(f"{self.block.text} refuses all questions: {why} ({brief(error)})")

    def _refuses_all(self, error: Exception, refusals: Mapping[str, str]) -> str | None:
        """Return why the server will answer no question, if the error of the last form (plain text) shows it."""
        if status_of(error) == 404 and self.block.batch:
            return "it has no batch interface (/v1/files, /v1/batches); leave `batch` out of the model's block"
        if status_of(error) == 404:
            return failed_requests.NO_API
        if not self._has_answered and isinstance(error, EmptyReplyError) and _PAGE.search(str(error)):
            return "a page answers at this address, and no model; base URLs mostly end with /v1"
        if self._has_answered or not failed_requests.is_refused_alike(error, refusals.values()):
            return None
        if named := PARAMETER.search(failed_requests.words_of(error)):
            return f"it refuses the {named[0]} in every form; set another, or another model"
        return "it refuses the first question in every form with the same message"

    async def _send(
        self, runnable: Runnable[Any, Any], messages: list[BaseMessage], settings: ModelSettings, patience: Patience
    ) -> AIMessage:
        most = 1 if self.spec.provider == IN_PROCESS else settings.max_connections
        seconds = settings.timeout * patience.patient
        if self.block.batch:
            from llm.batches import AT_ONCE, SECONDS

            most, seconds = AT_ONCE, SECONDS
        throttle = throttle_of(self.spec, most, " in batches" if self.block.batch else "")
        async with throttle.slot() as sent:  # waiting for a slot does not count towards the time-out
            patience.sent += 1
            try:
                message = await _one_request(runnable, messages, seconds, patience)
            except Exception as error:
                if isinstance(ours := failed_requests.root_cause(error), BatchFileError):
                    raise ours from None
                if usage := _usage_of(error):
                    patience.used(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
                why_failed = f"HTTP {status}" if (status := status_of(error)) else type(error).__name__
                tell("request_failed", server=self.spec.server, request=patience.sent, reason=why_failed)
                if never := self._never_passes(error):
                    raise never from error
                if await self._is_away(error, throttle, sent, settings.max_outage):
                    raise ServerAwayError(brief(error)) from error
                # A proxy that refuses for itself (502, 503) says nothing of the server behind it.
                throttle.has_refused |= status_of(error) is not None and not failed_requests.seems_away(error)
                patience.failed(error, passing=failed_requests.is_passing(error) and throttle.has_answered)
                if failed_requests.is_too_many(error):
                    throttle.refused(sent, failed_requests.retry_after(error))
                raise
            throttle.succeeded()
        self._has_answered = True
        return message

    def _never_passes(self, error: Exception) -> AskError | None:
        """Return what an error says of a request that need not be sent again; None if it may pass."""
        if why := failed_requests.refusal(error):
            return self._refused(why, error)
        if failed_requests.is_over_rate(error):
            return RateError(f"{self.spec.name}: {LESS} ({brief(error)})")
        if failed_requests.is_too_long(error):
            return ContextLengthError(f"{self.spec.name}: {TOO_LONG} ({brief(error)})")
        return None

    async def _is_away(self, error: Exception, throttle: Throttle, sent: float, longest: float) -> bool:
        """Whether the request failed because the server is away, and waiting for it is allowed."""
        if not failed_requests.seems_away(error):
            return False
        if (url := self.spec.base_url) and status_of(error) is None:
            # A server that is up dropped only this connection, unless it is just back.
            if await failed_requests.is_there(url) and not (
                throttle.is_away and failed_requests.is_never_connected(error)
            ):
                return False
            sent = math.inf
        return throttle.lost(sent, longest, failed_requests.is_loading(error))

    def _prepare(
        self, form: str, question: Question[Any], without: frozenset[str]
    ) -> tuple[Runnable[Any, Any], list[BaseMessage]]:
        has_roles = self.block.chat_roles and ROLES not in without
        messages = question.messages if has_roles else list(question.in_text or question.messages)
        if self.forms.blind and question.pictures:
            texts = [[block for block in _blocks(message) if block["type"] == "text"] for message in messages]
            messages = [_with_content(message, blocks) for message, blocks in zip(messages, texts, strict=True)]
        spelt_out = form in TOLD or question.told
        if question.schema and (spelt_out or self.block.schema_in_prompt):
            # With the schema sent as a parameter, the prompt repeats its descriptions only if asked to.
            instruction = question.bare if spelt_out and form != PLAIN else question.instruction
            blocks = [*_blocks(messages[-1]), {"type": "text", "text": instruction}]
            messages = [*messages[:-1], _with_content(messages[-1], blocks)]
        if not has_roles:
            messages = [in_one(messages)]
        if without not in self._models:
            self._models[without] = build_model(self.name, self.settings, without)
        if form == PLAIN:
            return self._models[without], messages
        key = (form, json.dumps(question.schema, sort_keys=True), without)
        if key not in self._bound:
            self._bound[key] = self._bind(self._models[without], form, question.name, question.schema)
        return self._bound[key], messages

    def _bind(self, model: "BaseChatModel", form: str, name: str, schema: dict[str, Any]) -> Runnable[Any, Any]:
        if form != "tool" and self._openai_compatible:
            # As extra_body: the SDK's own structured output would rebuild and validate the schema on every call.
            strict = {"json_schema": {"name": name, "schema": schema, "strict": True}}
            response_format = {"type": form, **(strict if form == "json_schema" else {"schema": schema})}
            own = getattr(model, "extra_body", None) or {}
            return model.bind(extra_body={"response_format": response_format, **own})
        tool = {"type": "function", "function": {"name": name, "description": "The answer.", "parameters": schema}}
        titled = {"title": name, **schema}
        try:
            if form == "tool":
                return model.bind_tools([tool], tool_choice=name)
            return model.with_structured_output(titled, method="json_schema", include_raw=True).pick("raw")
        except (NotImplementedError, TypeError, ValueError) as error:  # some take no tools, no choice or no method
            raise FormRefusedError(brief(error)) from error


_MOST_CLIENTS = 256  # in one event loop; a program may call a graph with seed after seed
_clients: dict[asyncio.AbstractEventLoop, dict[tuple[Any, ...], ChatClient]] = {}


def chat_client(name: str, settings: ModelSettings) -> ChatClient:
    """Return the client of a model-map entry for the running event loop; connections belong to a loop."""
    clients = in_this_loop(_clients)
    limits = (settings.temperature, settings.timeout, settings.max_tokens, settings.seed)
    key = (settings.block(name).model_dump_json(), limits, settings.key_of(name))
    if key not in clients or clients[key].is_replaced:
        if len(clients) >= _MOST_CLIENTS:
            del clients[next(iter(clients))]  # calls under way keep it
        clients[key] = ChatClient(name, settings)
    return clients[key]


def _usage_of(error: Exception) -> dict[str, Any] | None:
    """Return the token counts in the body of a failed answer."""
    with suppress(Exception):  # no response, or one without JSON
        return counted(error.response.json()["usage"])  # type: ignore[attr-defined]
    return None


async def _one_request(
    runnable: Runnable[Any, Any], messages: list[BaseMessage], seconds: float, patience: Patience
) -> AIMessage:
    try:
        # The client's own, longer time-out covers the gaps between bytes; this one covers the whole request.
        async with asyncio.timeout(seconds):
            message = await runnable.ainvoke(messages, untraced())
    except Exception as error:
        mask_chain(error)
        if type(error) is TimeoutError:
            raise TimeoutError(
                f"no complete answer within {seconds:g} s; a higher timeout gives the server longer, and max_tokens "
                "ends a reply that goes on and on"
            ) from error
        if str(error).startswith("Unexpected response type"):
            raise EmptyReplyError(f"the server's answer is not JSON: {str(error).partition(': ')[2]}") from error
        # Integrations raise these for bodies that have no choices or are not JSON.
        if isinstance(error, _INVALID_REPLY):
            raise EmptyReplyError(f"the server's answer has no choices ({brief(error)})") from error
        if isinstance(cause := failed_requests.root_cause(error), OversizeReplyError):
            raise cause from None  # SDKs wrap it as a connection error
        raise
    if not isinstance(message, AIMessage):
        raise EmptyReplyError(f"the server's answer is of the unexpected type {type(message).__name__}")
    if usage := message.usage_metadata:
        patience.used(usage["input_tokens"], usage["output_tokens"])
    if len(text_of(message)) > LONGEST_TEXT:
        raise OversizeReplyError(f"the server's answer is longer than {LONGEST_TEXT:,} characters")
    return message


def in_one(messages: Sequence[BaseMessage]) -> HumanMessage:
    """Join all messages into one, in order and with their pictures, for a model without chat roles."""
    return HumanMessage(_content([block for message in messages for block in _blocks(message)]))


def _with_content(message: BaseMessage, blocks: list[Any]) -> BaseMessage:
    return message.model_copy(update={"content": _content(blocks)})


def _blocks(message: BaseMessage) -> list[Any]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _content(blocks: list[Any]) -> str | list[Any]:
    """Return text alone as a string, which servers without pictures expect."""
    is_text = all(block["type"] == "text" for block in blocks)
    return "\n\n".join(block["text"] for block in blocks) if is_text else blocks
