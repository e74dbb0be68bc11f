"""Chat models given as Python objects in a model map: any LangChain ``BaseChatModel``.

Records are text, so an object is identified by a spec, ``object:Class(parameters)#hash``: a run records which model
answered, and resuming it needs an object of the same class and parameters.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from llm.errors import ModelSpecError
from llm.masking import masked

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OBJECT = "object"
_SECRET = re.compile(r"key|secret|password|credential|auth|header|token(?!s)", re.IGNORECASE)
_ADDRESS = re.compile(r"base$|url|endpoint|host|deployment", re.IGNORECASE)  # LangChain's integrations do not tell it
_FILE_TYPES = (str, int, float, list, dict, type(None))  # values a file can hold, validated by the type of the map
_objects: dict[str, "BaseChatModel"] = {}


def with_specs(models: Any, *, field: str = "models", beside: Collection[str] = ()) -> Any:
    """Return a model map in which each model object is replaced by its spec; other values are not checked here.

    Args:
        models: the map.
        field: its name, for errors.
        beside: specs of another map that is used with it, whose objects must be told apart from these, too.

    Raises:
        ModelSpecError: an object is not a chat model, or two objects cannot be told apart by their parameters.
    """
    if not isinstance(models, Mapping) or all(isinstance(model, str) for model in models.values()):
        return models
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    made: dict[str, BaseChatModel] = {spec: _objects[spec] for spec in beside if spec in _objects}
    specs: dict[str, str] = {}
    for role, model in models.items():
        if isinstance(model, _FILE_TYPES):
            continue
        if not isinstance(model, BaseChatModel):
            found = f"the class {model.__name__}" if isinstance(model, type) else f"{type(model).__name__}"
            raise ModelSpecError(
                f"{field}.{role}: expected a spec, such as 'openai:gpt-4o-mini', or a LangChain BaseChatModel object, "
                f"found {found}{'; give the chat model itself, unwrapped' if isinstance(model, Runnable) else ''}"
            )
        specs[role] = spec = _spec(model)
        if made.setdefault(spec, model) is not model:
            raise ModelSpecError(
                f"{field}.{role}: its parameters do not distinguish it from another {type(model).__name__}; use one "
                "object for both, or give each a `name`"
            )
    _objects.update(made)
    return {**models, **specs}


def object_of(name: str) -> "BaseChatModel":
    """Return the object of a spec; ModelSpecError if it was made in another process."""
    spec = f"{OBJECT}:{name}"
    if spec not in _objects:
        raise ModelSpecError(f"{spec!r} is a model object of another Python process; pass it in the model map again")
    return _objects[spec]


def with_own_connections(model: "BaseChatModel") -> "BaseChatModel":
    """Return a model of LangChain's for OpenAI or Anthropic, or of a class made of it, with connections of its own.

    LangChain's models share their connections, which belong to the event loop that opened them: in the next loop of a
    program, so in its second run, calls fail ("Event loop is closed"). A client or proxy that the user gave stays, and
    any other model is returned as it is.
    """
    kinds = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    given = ("http_async_client", "http_client", "openai_proxy", "anthropic_proxy")
    if any(getattr(model, each, None) for each in given):
        return model
    if "langchain_openai" in kinds and (opened := getattr(model, "root_async_client", None)):
        from openai import DefaultAsyncHttpxClient

        from llm.transport import certificates

        client = opened.with_options(http_client=DefaultAsyncHttpxClient(verify=certificates()))
        return model.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})
    if "langchain_anthropic" in kinds and (opened := getattr(model, "_async_client", None)):
        import anthropic

        from llm.transport import certificates

        client = opened.with_options(http_client=anthropic.DefaultAsyncHttpxClient(verify=certificates()))
        return model.model_copy(update={"_async_client": client})
    return model


def _spec(model: "BaseChatModel") -> str:
    from langchain_core.language_models import BaseChatModel

    own = type(model).model_fields.keys() - BaseChatModel.model_fields.keys()
    fields = {name: getattr(model, name) for name in own}
    addresses = {name: str(value) for name, value in fields.items() if value and _ADDRESS.search(name)}
    named = {"name": model.name} if model.name else {}
    values = addresses | (dict(model._identifying_params) or fields) | named
    parameters = {name: values[name] for name in sorted(values) if not _SECRET.search(name)}
    shown = ", ".join(f"{name}={value}" for name, value in parameters.items() if isinstance(value, str | int | float))
    serialised = json.dumps(parameters, default=lambda value: type(value).__name__, sort_keys=True)
    return (
        f"{OBJECT}:{type(model).__name__}({masked(shown):.200})#{hashlib.sha256(serialised.encode()).hexdigest()[:8]}"
    )
