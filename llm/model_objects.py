"""Chat models that were made in Python and stand in a model map themselves: any LangChain ``BaseChatModel``.

Records are text, so an object is known by a spec, ``object:Class(parameters)#hash``: a run tells what answered, and
going on with it needs an object of the same class and parameters.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm.errors import ModelSpecError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OBJECT = "object"
_SECRET = re.compile(r"key|secret|password|credential|auth|header", re.IGNORECASE)
_OF_A_FILE = (str, int, float, list, dict, type(None))  # left to the type of the map
_objects: dict[str, "BaseChatModel"] = {}


def with_specs(models: Any) -> Any:
    """A model map with the spec of each object in its place; of what a file can hold nothing is checked here.

    Raises:
        ModelSpecError: an object is no chat model, or nothing in their parameters tells two objects apart.
    """
    if not isinstance(models, Mapping):
        return models
    if all(isinstance(model, str) for model in models.values()):
        return models
    from langchain_core.language_models import BaseChatModel

    made: dict[str, BaseChatModel] = {}
    specs: dict[str, str] = {}
    for role, model in models.items():
        if isinstance(model, _OF_A_FILE):
            continue
        if not isinstance(model, BaseChatModel):
            found = f"the class {model.__name__}" if isinstance(model, type) else f"{type(model).__name__}"
            raise ModelSpecError(
                f"models.{role}: expected a spec, such as 'openai:gpt-4o-mini', or a LangChain BaseChatModel object, "
                f"found {found}"
            )
        specs[role] = spec = _spec(model)
        if made.setdefault(spec, model) is not model:
            raise ModelSpecError(
                f"models.{role}: nothing in its parameters tells it from another {type(model).__name__}"
            )
    _objects.update(made)
    return {**models, **specs}


def object_of(name: str) -> "BaseChatModel":
    """The object of a spec.

    Raises:
        ModelSpecError: it was made in another process.
    """
    spec = f"{OBJECT}:{name}"
    if spec not in _objects:
        raise ModelSpecError(f"{spec!r} is a model object of another Python process; put it into the model map again")
    return _objects[spec]


def _spec(model: "BaseChatModel") -> str:
    from langchain_core.language_models import BaseChatModel

    own = type(model).model_fields.keys() - BaseChatModel.model_fields.keys()
    found = dict(model._identifying_params) or {name: getattr(model, name) for name in own}
    told = {name: found[name] for name in sorted(found) if not _SECRET.search(name)}
    shown = ", ".join(f"{name}={value}" for name, value in told.items() if isinstance(value, str | int | float))
    every = json.dumps(told, default=lambda value: type(value).__name__, sort_keys=True)
    return f"{OBJECT}:{type(model).__name__}({shown:.200})#{hashlib.sha256(every.encode()).hexdigest()[:8]}"
