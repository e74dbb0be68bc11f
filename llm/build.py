"""The LangChain chat model behind an entry of the model map, with its parameters, its key and nobody else's."""

import logging
import os
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from llm.blocks import OWN, ModelBlock
from llm.egress import keep_loopback_direct, stays
from llm.errors import ModelSpecError
from llm.forms import WHOLE
from llm.model_objects import OBJECT, object_of
from llm.retries import brief
from llm.settings import ModelSettings
from llm.specs import IN_PROCESS, WITHOUT_MODEL

if TYPE_CHECKING:  # by whoever only builds a graph it is not needed
    from langchain_core.language_models import BaseChatModel

_OPENAI = ("openai", "azure_openai")
_SEED_IN_BODY = {"groq"}  # the service takes one, its integration has no parameter for it
_TAKES_SEED = {*_OPENAI, "deepseek", "google_genai", "mistralai", "ollama", "together", "xai", IN_PROCESS}
# What integrations call our parameters, where they do not call them so.
_CALLED: dict[str, dict[str, str]] = {
    "anthropic": {"extra_body": "model_kwargs"},
    "google_genai": {"default_headers": "additional_headers"},
    "groq": {"extra_body": "model_kwargs"},
    "mistralai": {"extra_body": "model_kwargs", "seed": "random_seed"},
    "ollama": {"max_tokens": "num_predict", "reasoning_effort": "reasoning", "context_length": "num_ctx"},
}
_NEWER = "max_completion_tokens"
_EXTRAS = {"anthropic": "anthropic", "google_genai": "google", "ollama": "ollama"}

_log = logging.getLogger(__name__)


def build_model(name: str, settings: ModelSettings, without: Collection[str] = ()) -> "BaseChatModel":
    """The LangChain chat model of an entry of the model map.

    A server named by URL gets its own key (``llm/keys.py``), and never the key of the provider's own service, nor what
    the environment says about the user's account there.

    Raises:
        ModelSpecError: the provider's package or a key is missing, it takes no such parameter, or a folder holds no
            model.
    """
    block = settings.block(name)
    spec = block.parsed
    if spec.provider == OBJECT:
        return object_of(spec.name)
    options = _parameters(block, settings, without)
    if block.batch and spec.provider != "openai":
        raise ModelSpecError(f"model.{name}.batch: {spec.provider} takes none in OpenAI's form; name openai:MODEL@URL")
    if spec.provider == IN_PROCESS:
        from llm.local_weights import HfChat, check_folder

        check_folder(spec.name)
        _check_parameters(name, block, HfChat)
        return HfChat(folder=spec.name, timeout=settings.timeout, **options)
    if not stays(spec.base_url):
        raise ModelSpecError(f"{block.text}: --no-egress lets nothing leave; name a local server")
    from llm.batches import SECONDS
    from llm.transport import hold

    keep_loopback_direct()
    longest = settings.timeout * settings.max_attempts  # as long as a request may be after time-outs; `ask` ends each
    options |= {"timeout": SECONDS if block.batch else longest, "max_retries": 0}
    if (key := settings.key_of(name)) is not None:
        options["api_key"] = key
    if spec.base_url is not None:
        options["base_url"] = spec.base_url
    if spec.provider in _OPENAI:
        options |= _own_clients(block)
    called = _CALLED.get(spec.provider, {})
    model = _constructed(block, {called.get(parameter, parameter): value for parameter, value in options.items()})
    _check_parameters(name, block, type(model))
    if not hold(spec.provider, model):
        _tell_unheld(spec.provider)
    if spec.base_url is not None or spec.provider not in _OPENAI:
        for client in (getattr(model, "root_client", None), getattr(model, "root_async_client", None)):
            if client is not None:
                without_account(client, getattr(model, "default_headers", None) or {})
    return model


def _own_clients(block: ModelBlock) -> dict[str, Any]:
    """HTTP clients for a model of its own: LangChain's is shared by all event loops, and its connections by none."""
    import httpx2
    import openai

    from llm.batches import BatchTransport
    from llm.transport import SpreadTransport, certificates

    trusted = certificates()
    transport: httpx2.AsyncBaseTransport | None = None
    if block.batch:
        transport = BatchTransport(block.batch)
    elif not getproxies().keys() - {"no"}:  # a client that is given a transport asks no proxy of the environment
        transport = SpreadTransport(openai.DEFAULT_CONNECTION_LIMITS)
    http = openai.DefaultAsyncHttpxClient(transport=transport, verify=trusted)
    unused = openai.DefaultHttpxClient(verify=trusted)  # else it makes one, and reads the certificates for it
    return {"http_async_client": http, "http_client": unused, "http_socket_options": ()}


def _constructed(block: ModelBlock, options: dict[str, Any]) -> "BaseChatModel":
    """The integration's model; why it cannot be had is said as what to do."""
    from langchain.chat_models import init_chat_model

    spec = block.parsed
    try:
        if spec.provider != "openai":
            model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **options)
            return model
        from llm.chat_openai import ChatOpenAI

        return ChatOpenAI(model=spec.name, **options)
    except ImportError as error:
        if (extra := _EXTRAS.get(spec.provider)) is None:
            raise ModelSpecError(f"{block.text} cannot be used: {brief(error)}") from error
        raise ModelSpecError(f"{block.text} needs the extra `{extra}`: pip install 'wardround[{extra}]'") from error
    except Exception as error:  # each integration raises its own kind when a key is missing
        if (spec.provider, spec.base_url) == ("openai", None) and not os.environ.get("OPENAI_API_KEY"):
            wanted = "set OPENAI_API_KEY, in the environment or a file .env here, or name a server of yours"
            raise ModelSpecError(f"{block.text} needs a key: {wanted}, openai:{spec.name}@URL") from error
        raise ModelSpecError(f"{block.text} cannot be used: {brief(error)}") from error


@cache
def _tell_unheld(provider: str) -> None:
    """Say once, before the first call, what the integration of a provider cannot be held to."""
    _log.warning(
        "%s: its integration brings an HTTP client of its own, which cannot be held: it may follow redirects, and "
        "takes answers of any size",
        provider,
    )


def _parameters(block: ModelBlock, settings: ModelSettings, without: Collection[str]) -> dict[str, Any]:
    """What is sent with every question, under the names of OpenAI's integration."""
    spec = block.parsed
    # A stream is asked for in the body, as our transport puts it together, and not LangChain.
    streamed = {"stream": True, "stream_options": {"include_usage": True}} if WHOLE in without else {}
    seed_in_body = spec.provider in _SEED_IN_BODY and settings.seed is not None and "seed" not in without
    seed = {"seed": settings.seed} if seed_in_body else {}
    wanted: dict[str, Any] = {
        "temperature": settings.temperature if block.temperature is None else block.temperature,
        "top_p": block.top_p,
        "max_tokens": block.max_tokens or settings.max_tokens,
        "seed": settings.seed if spec.provider in _TAKES_SEED else None,
        "reasoning_effort": block.reasoning_effort,
        "context_length": block.context_length if spec.provider == "ollama" else None,
        "together": block.together if spec.provider == IN_PROCESS else None,
        "extra_body": {**streamed, **seed, **block.extra_body} or None,
        "default_headers": block.sent_headers or None,
    }
    refused = {name.replace(_NEWER, "max_tokens") for name in without}
    # OpenAI's integration gives max_tokens its newer name, which servers of others know at best beside the old one.
    elsewhere = spec.provider == "openai" and spec.base_url is not None
    if elsewhere and _NEWER not in without:
        refused.discard("max_tokens")
    sent = {name: value for name, value in wanted.items() if value not in (None, OWN) and name not in refused}
    if elsewhere and "max_tokens" in sent and "max_tokens" not in without:
        sent["extra_body"] = {"max_tokens": sent.pop("max_tokens"), **sent.get("extra_body", {})}
    return sent


def without_seed(models: Mapping[str, str], settings: ModelSettings) -> list[str]:
    """The models of a map that the run's seed is not passed to, as their integrations take none."""
    if settings.seed is None:
        return []
    chat = {name for name in models.values() if name not in WITHOUT_MODEL}
    taking = _TAKES_SEED | _SEED_IN_BODY
    return sorted(name for name in chat if settings.block(name).parsed.provider not in taking)


def _check_parameters(name: str, block: ModelBlock, kind: "type[BaseChatModel]") -> None:
    """Refuse what a block sets and the integration would pass over."""
    called = _CALLED.get(block.parsed.provider, {})
    for parameter in ("top_p", "max_tokens", "reasoning_effort", "extra_body", "headers", "together"):
        own = "default_headers" if parameter == "headers" else parameter
        if getattr(block, parameter) and called.get(own, own) not in _fields(kind):
            raise ModelSpecError(f"model.{name}.{parameter}: {kind.__name__} takes none")


def _fields(kind: "type[BaseChatModel]") -> set[str | None]:
    return {name for own, info in kind.model_fields.items() for name in (own, info.alias)}


def without_account(client: Any, headers: Mapping[str, str] | None = None) -> None:
    """Let an OpenAI client name nobody.

    It takes the headers with the user's organization and project at OpenAI, and others, from the environment, and no
    argument keeps it from sending them to another company's server.
    """
    client.organization = client.project = None
    client._custom_headers = dict(headers or {})
