"""Build the LangChain chat model of a model-map entry with its own parameters and key."""

import asyncio
import logging
import os
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from pydantic import ValidationError

from cases.validation import in_a_line
from llm.blocks import SERVER_DEFAULT, ModelBlock
from llm.egress import keep_loopback_direct, stays
from llm.errors import ModelSpecError
from llm.failed_requests import brief
from llm.forms import WHOLE
from llm.masking import masked
from llm.model_objects import OBJECT, object_of, with_own_connections
from llm.scopes import in_this_loop
from llm.settings import ModelSettings
from llm.specs import IN_PROCESS, WITHOUT_MODEL

if TYPE_CHECKING:  # slow to import, and not needed to build a graph
    from langchain_core.language_models import BaseChatModel

_OPENAI = ("openai", "azure_openai")
_SEED_IN_BODY_ONLY = {"groq"}  # the service takes a seed, its integration has no parameter for it
_TAKES_SEED = {*_OPENAI, "deepseek", "google_genai", "mistralai", "ollama", "together", "xai", IN_PROCESS}
# The integrations' names for our parameters, where they differ.
_PARAMETER_NAMES: dict[str, dict[str, str]] = {
    "anthropic": {"extra_body": "model_kwargs"},
    "azure_openai": {"base_url": "azure_endpoint"},
    "google_genai": {"default_headers": "additional_headers"},
    "groq": {"extra_body": "model_kwargs"},
    "mistralai": {"extra_body": "model_kwargs", "seed": "random_seed"},
    "ollama": {"max_tokens": "num_predict", "reasoning_effort": "reasoning", "context_length": "num_ctx"},
}
_NEWER_MAX_TOKENS = "max_completion_tokens"
_EXTRAS = {"anthropic": "anthropic", "google_genai": "google", "ollama": "ollama"}

_log = logging.getLogger(__name__)


def build_model(name: str, settings: ModelSettings, without: Collection[str] = ()) -> "BaseChatModel":
    """Build the LangChain chat model of a model-map entry.

    A server named by URL gets its own key (``llm/keys.py``), never the key of the provider's own service or the account
    that the environment names for it.

    Raises:
        ModelSpecError: the provider's package or a key is missing, the model does not take a parameter, or a folder
            holds no model.
    """
    block = settings.block(name)
    spec = block.parsed
    if spec.provider == OBJECT:
        return with_own_connections(object_of(spec.name))
    options = _parameters(block, settings, without)
    if block.batch:
        _check_batch(name, block.batch, spec.provider)
    if spec.provider == IN_PROCESS:
        from llm.local_weights import HfChat
        from llm.model_folders import check_folder

        check_folder(spec.name)
        _check_parameters(name, block, HfChat)
        return HfChat(folder=spec.name, timeout=settings.timeout, **options)
    if not stays(spec.base_url):
        raise ModelSpecError(f"{block.text}: not allowed with --no-egress; use a local server")
    from llm.batches import SECONDS
    from llm.transport import restrict_client

    keep_loopback_direct()
    longest = settings.timeout * settings.max_attempts  # time-outs grow with retries; `ask` ends each request itself
    options |= {"timeout": SECONDS if block.batch else longest, "max_retries": 0}
    if (key := settings.key_of(name)) is not None:
        options["api_key"] = key
        if spec.provider == "azure_openai":
            options["azure_ad_token"] = None  # not the one that the environment has for another resource
    if spec.base_url is not None:
        options["base_url"] = spec.base_url
    if spec.provider in _OPENAI:
        options |= _own_clients(block, options.get("api_key"))
    # A graph watched for messages or events would have LangChain stream, and the transport assembles every stream.
    options["disable_streaming"] = True
    names = _PARAMETER_NAMES.get(spec.provider, {})
    model = with_own_connections(_create(block, {names.get(name, name): value for name, value in options.items()}))
    _check_parameters(name, block, type(model))
    if not restrict_client(spec.provider, model):
        _warn_of_unrestricted(spec.provider)
    if spec.base_url is not None or spec.provider not in _OPENAI:
        _forget_the_account(model)
    return model


def _forget_the_account(model: "BaseChatModel") -> None:
    """Drop what OpenAI's client takes from the environment: the user's organization, project and token of Azure.

    No argument stops it from sending them to another company's server.
    """
    for client in filter(None, (getattr(model, name, None) for name in ("root_client", "root_async_client"))):
        client.organization = client.project = client._azure_ad_token = None
        client._custom_headers = dict(getattr(model, "default_headers", None) or {})


def _check_batch(name: str, file: str, provider: str) -> None:
    from llm.batches import check_file

    if provider != "openai":
        raise ModelSpecError(f"model.{name}.batch: not available for {provider}; use openai:MODEL@URL")
    try:
        check_file(Path(os.path.expanduser(file)))
    except ValueError as error:
        raise ModelSpecError(f"model.{name}.batch: {error}") from error


_http_clients: dict[asyncio.AbstractEventLoop, dict[tuple[Any, ...], dict[str, Any]]] = {}


def _own_clients(block: ModelBlock, key: str | None) -> dict[str, Any]:
    """Return HTTP clients of the model's own: LangChain's is shared by all event loops, but connections are not.

    Calls with other settings, such as another seed, share them, since each client keeps connections open.
    """
    import httpx2
    import openai

    from llm.batches import BatchTransport
    from llm.transport import SpreadTransport, certificates

    # With a transport of its own, a client passes over proxies.
    direct = not block.batch and not getproxies().keys() - {"no"}
    try:
        clients = {} if block.batch else in_this_loop(_http_clients)
    except RuntimeError:  # no loop is running: the model is only checked
        clients = {}
    known = (block.model_dump_json(), key, direct)
    if known not in clients:
        trusted = certificates()
        transport: httpx2.AsyncBaseTransport | None = BatchTransport(block.batch) if block.batch else None
        if direct:
            transport = SpreadTransport(openai.DEFAULT_CONNECTION_LIMITS)
        http = openai.DefaultAsyncHttpxClient(transport=transport, verify=trusted)
        unused = openai.DefaultHttpxClient(verify=trusted)  # else the integration makes one and reads the certificates
        clients[known] = {"http_async_client": http, "http_client": unused, "http_socket_options": ()}
    return clients[known]


def _create(block: ModelBlock, options: dict[str, Any]) -> "BaseChatModel":
    """Create the integration's model; ModelSpecError says what to do if a package, a key or a parameter is amiss."""
    from langchain.chat_models import init_chat_model

    spec = block.parsed
    try:
        if spec.provider not in _OPENAI:
            model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **options)
            return model
        from llm.chat_openai import AzureChatOpenAI, ChatOpenAI

        kind = ChatOpenAI if spec.provider == "openai" else AzureChatOpenAI
        return kind(model=spec.name, **options)
    except ImportError as error:
        if (extra := _EXTRAS.get(spec.provider)) is None:
            raise ModelSpecError(f"{block.text} cannot be used: {brief(error)}") from error
        raise ModelSpecError(f"{block.text} needs the extra `{extra}`: pip install 'wardround[{extra}]'") from error
    except Exception as error:  # the type raised for a missing key differs between integrations
        if (spec.provider, spec.base_url) == ("openai", None) and not os.environ.get("OPENAI_API_KEY"):
            wanted = "set OPENAI_API_KEY in the environment or in a file .env here, or use a server of your own"
            raise ModelSpecError(f"{block.text} needs a key: {wanted}, openai:{spec.name}@URL") from error
        why = masked(in_a_line(error)) if isinstance(error, ValidationError) else brief(error)
        raise ModelSpecError(f"{block.text} cannot be used: {why}") from error


@cache
def _warn_of_unrestricted(provider: str) -> None:
    """Warn once per provider whose HTTP client cannot be restricted."""
    _log.warning(
        "%s: its integration brings its own HTTP client, which cannot be restricted: it may follow redirects and "
        "accept answers of any size",
        provider,
    )


def _parameters(block: ModelBlock, settings: ModelSettings, without: Collection[str]) -> dict[str, Any]:
    """Return the request parameters under the names of OpenAI's integration."""
    spec = block.parsed
    # Streaming is requested in the body, because our transport assembles the stream, not LangChain.
    body: dict[str, Any] = {"stream": True} if WHOLE in without else {}
    if body and not {"stream_options", "include_usage"} & {*without}:
        body["stream_options"] = {"include_usage": True}
    if spec.provider in _SEED_IN_BODY_ONLY and settings.seed is not None and "seed" not in without:
        body["seed"] = settings.seed
    wanted: dict[str, Any] = {
        "temperature": settings.temperature if block.temperature is None else block.temperature,
        "top_p": block.top_p,
        "max_tokens": block.max_tokens or settings.max_tokens,
        "seed": settings.seed if spec.provider in _TAKES_SEED else None,
        "reasoning_effort": block.reasoning_effort,
        "context_length": block.context_length if spec.provider == "ollama" else None,
        "together": block.together if spec.provider == IN_PROCESS else None,
        "extra_body": {**body, **block.extra_body} or None,
        "default_headers": block.sent_headers or None,
    }
    refused = {name.replace(_NEWER_MAX_TOKENS, "max_tokens") for name in without}
    # OpenAI's integration renames max_tokens to the newer name, which other servers often do not know.
    other_server = spec.provider == "openai" and spec.base_url is not None
    if other_server and _NEWER_MAX_TOKENS not in without:
        refused.discard("max_tokens")
    sent = {
        name: value for name, value in wanted.items() if value not in (None, SERVER_DEFAULT) and name not in refused
    }
    if other_server and "max_tokens" in sent and "max_tokens" not in without:
        sent["extra_body"] = {"max_tokens": sent.pop("max_tokens"), **sent.get("extra_body", {})}
    return sent


def without_seed(models: Mapping[str, str], settings: ModelSettings) -> list[str]:
    """Return the models of a map that do not get the run's seed, because their integrations take none."""
    if settings.seed is None:
        return []
    chat = {name for name in models.values() if name not in WITHOUT_MODEL}
    taking = _TAKES_SEED | _SEED_IN_BODY_ONLY
    return sorted(name for name in chat if settings.block(name).parsed.provider not in taking)


def _check_parameters(name: str, block: ModelBlock, kind: "type[BaseChatModel]") -> None:
    """Raise ModelSpecError for parameters of a block that the integration would silently ignore."""
    names = _PARAMETER_NAMES.get(block.parsed.provider, {})
    for parameter in ("top_p", "max_tokens", "reasoning_effort", "extra_body", "headers", "together"):
        own = "default_headers" if parameter == "headers" else parameter
        if getattr(block, parameter) and names.get(own, own) not in _fields(kind):
            raise ModelSpecError(f"model.{name}.{parameter}: not accepted by {kind.__name__}; remove it")


def _fields(kind: "type[BaseChatModel]") -> set[str | None]:
    return {name for field, info in kind.model_fields.items() for name in (field, info.alias)}
