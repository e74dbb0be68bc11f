"""The API key of each server: its own, never another server's."""

import os
import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import urlsplit

from llm.blocks import ModelBlock, variable
from llm.errors import ModelSpecError
from llm.specs import ModelSpec

KEY = "WARDROUND_API_KEY"
NONE = "none"


def key_of(model: ModelBlock, all_models: Iterable[ModelBlock]) -> str | None:
    """Return the key for a model's server; None if the provider's integration finds its own.

    A block may name the key's variable in ``api_key_env``. Otherwise a server named by URL gets
    ``WARDROUND_API_KEY_<HOST>_<PORT>``, or ``WARDROUND_API_KEY`` if that cannot be meant for another server.

    Raises:
        ModelSpecError: the variable is not set, or one key would serve several servers.
    """
    if model.api_key_env is not None:
        return variable(model.api_key_env, "api_key_env") if model.api_key_env else NONE
    server = _server(model)
    if server is None:
        return None
    if own := os.environ.get(_own_variable(server)):
        return own
    if not (shared := os.environ.get(KEY)):
        return NONE
    others = {_server(other) for other in all_models if _needs_the_shared_key(other)} - {server}
    if others:
        servers = sorted({server, *filter(None, others)})
        raise ModelSpecError(
            f"{KEY} is for one server, but {' and '.join(servers)} are used: set {_own_variable(server)}, or "
            "api_key_env in the model's block (empty for a server that needs no key)"
        )
    return shared


def _needs_the_shared_key(model: ModelBlock) -> bool:
    server = _server(model)
    return server is not None and model.api_key_env is None and not os.environ.get(_own_variable(server))


def _server(model: ModelBlock) -> str | None:
    return _server_of(model.text)


@cache  # each call looks up its key
def _server_of(spec: str) -> str | None:
    url = ModelSpec.parse(spec).base_url
    return urlsplit(url).netloc.lower() if url else None


def _own_variable(server: str) -> str:
    return f"{KEY}_{re.sub(r'[^A-Z0-9]', '_', server.upper())}"
