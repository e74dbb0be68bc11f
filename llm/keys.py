"""The API key of each server: its own, never another server's."""

import os
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from llm.blocks import ModelBlock, variable
from llm.errors import ModelSpecError

KEY = "WARDROUND_API_KEY"
NONE = "none"


def key_of(model: ModelBlock, all_models: Iterable[ModelBlock]) -> str | None:
    """Return the key for a model's server; None if the provider's integration finds its own.

    A block may name the key's variable in ``api_key_env``. Otherwise a server named by URL gets
    ``WARDROUND_API_KEY_<HOST>_<PORT>``, or ``WARDROUND_API_KEY``, unless another server would get the same one.

    Raises:
        ModelSpecError: the variable is not set, or one key would serve several servers.
    """
    if model.api_key_env is not None:
        return variable(model.api_key_env, "api_key_env") if model.api_key_env else NONE
    server = _server_of(model)
    if server is None:
        return None
    name = _variable_of(server)
    if name is None:
        return NONE
    others = {_server_of(other) for other in all_models if other.api_key_env is None} - {server, None}
    if sharing := [other for other in others if other and _variable_of(other) == name]:
        servers = sorted([server, *sharing])
        wanted = [own for used in servers if (own := _own_variable(used)) != name]
        set_own = f"set {' or '.join(wanted)}, or api_key_env" if wanted else "set api_key_env"
        raise ModelSpecError(
            f"{name} is for one server, but {' and '.join(servers)} are used: {set_own} in the model's block (empty "
            "for a server that needs no key)"
        )
    return variable(name, "models")


def _server_of(model: ModelBlock) -> str | None:
    url = model.parsed.base_url
    return urlsplit(url).netloc.lower() if url else None


def _own_variable(server: str) -> str:
    """Return the variable of a server's own key, with `__` for a hyphen, as a dot has `_`."""
    return f"{KEY}_{re.sub('[^A-Z0-9]', '_', server.replace('-', '__').upper())}"


def _variable_of(server: str) -> str | None:
    """Return the variable that holds a server's key, if any is set."""
    return next((name for name in (_own_variable(server), KEY) if os.environ.get(name)), None)
