"""Parse what the command line sets: ``KEY=VALUE`` and ``ROLE=SPEC``."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from llm import ModelSettings
from wardround.config.experiment import ConfigurationError
from wardround.config.setting_places import COMMAND_LINE, Settings, known_keys, nested, place_of, refusal

_OF_CALLS = (  # settings that a command without an experiment may set for the models that it asks
    "timeout", "max_tokens", "temperature", "seed", "max_attempts", "max_connections", "max_outage", "repairs",
    "cache", "prices", "model",
)  # fmt: skip


def parse_settings(settings: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` options: a key as `dotted` reads it, and a value in TOML or plain text; or values by key.

    Raises:
        ConfigurationError: an option has no ``=``, or something else was given.
    """
    if not isinstance(settings, Mapping | list | tuple) or not all(isinstance(each, str) for each in settings):
        raise ConfigurationError(f"settings = {settings!r:.80}; expected a dict by key, such as {{'max_tokens': 800}}")
    if isinstance(settings, Mapping):
        return {dotted(key): value for key, value in settings.items()}
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--set {setting}: expected KEY=VALUE, for example --set feedback=off")
        parsed[dotted(key)] = _toml_value(value)
    return parsed


def dotted(key: str) -> str:
    """Return the dotted key of a setting.

    A bare key is a top-level key of the experiment file (`seed`, `inferred_keys`) if there is one, otherwise a setting
    of the workflow.
    """
    return key if "." in key or key in known_keys([]) else f"workflow.{key}"


def parse_call_settings(settings: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` options that say how models are asked: ``timeout``, ``max_tokens``, ``model.NAME.KEY``.

    A model may lack its spec, which a run may have recorded.

    Raises:
        ConfigurationError: a key or value that is not of the calls.
    """
    found = {key.removeprefix("workflow."): value for key, value in parse_settings(settings).items()}
    for key in found:
        if key.partition(".")[0] not in _OF_CALLS:
            raise ConfigurationError(f"--set {key}: does not say how a model is asked; expected {', '.join(_OF_CALLS)}")
    given: Settings = {place_of(key): (value, COMMAND_LINE) for key, value in found.items()}
    of_models = [place for place in given if place[0] == "model" and len(place) > 2]
    bare = {name for _, name, *_ in of_models} - {name for _, name, *key in of_models if key == ["spec"]}
    stand_ins: Settings = {("model", name, "spec"): ("openai:model", COMMAND_LINE) for name in bare}
    try:
        parsed = ModelSettings.model_validate(nested({**given, **stand_ins})).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise refusal(error, given, None, "") from error
    for name in bare:
        del parsed["model"][name]["spec"]
    return parsed


def parse_models(models: Sequence[str]) -> dict[str, str]:
    """Parse ``ROLE=SPEC`` options; a spec alone is the default.

    Raises:
        ConfigurationError: an empty role or spec.
    """
    parsed: dict[str, str] = {}
    for entry in models:
        role, equals, spec = entry.partition("=")
        if not equals:
            role, spec = "default", entry
        if not role or not spec:
            raise ConfigurationError(f"--models {entry}: expected ROLE=SPEC, for example --models patient=offline")
        parsed[role] = spec
    return parsed


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
