"""Explain invalid settings: where each was written, its key, and the key that may have been meant."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError

from cases.registry import nearest
from cases.validation import faults
from graphs.contexts import CONTEXTS
from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, ConfigurationError, Experiment, Sweeping
from wardround.config.setting_places import Settings, origin_of

_SECTIONS = ("workflow", "data", "run")  # their keys may be written without the section
_SIMILARITY = 0.8  # minimum similarity to suggest a key of another section


def refusal(error: ValidationError, settings: Settings, file: Path | None, section: str = "") -> ConfigurationError:
    """Describe each fault with where it was written (a file or the command line) and its key."""
    messages = []
    for detail in faults(error):
        place = tuple(str(part) for part in detail["loc"])
        if section and place[:1] != ("models",):
            place = (section, *place)
        message = detail["msg"]
        if parts := re.match(r"'(\w+)' is (not a setting of the graph '(\w+)': )(.*)", message):
            place = (*place, parts[1])
            message = parts[2] + (parts[4] if parts[4].startswith("it belongs to") else _suggestion(place, parts[3]))
        if detail["type"] == "extra_forbidden":
            message = f"unknown key; {_suggestion(place)}"
        key = "" if message.startswith("models") else ".".join(place)
        messages.append(": ".join(part for part in (origin_of(settings, place, file), key, message) if part))
    return ConfigurationError("\n".join(messages))


def _suggestion(place: Sequence[str], graph: str | None = None) -> str:
    """Say where an unknown key belongs: in another section that has it, or as the most similar name.

    ``graph`` is the one that obeys no such setting, so that only its own are suggested.
    """
    *section, key = place
    if list(place) == ["context"]:  # its name in Python
        return "settings of the graph belong in [workflow]"
    sections = {name: home for home in ("", *_SECTIONS) if [home] != section for name in known_keys(home.split())}
    if sections.get(key):
        return f"it belongs in [{sections[key]}]"
    own = [name for name in known_keys(section) if graph is None or name in CONTEXTS[graph].model_fields]
    if len(section) == 1 and not get_close_matches(key, own, 1, _SIMILARITY):
        for name in get_close_matches(key, sections, 1, _SIMILARITY):
            return f"did you mean {name!r}, " + (
                f"of [{sections[name]}]?" if sections[name] else "which is of no section?"
            )
    return nearest(key, own)


def known_keys(section: Sequence[str]) -> list[str]:
    """Return the keys of a section of an experiment file."""
    if list(section) == ["workflow"]:
        return sorted(set(Context.model_fields) - set(NOT_OF_THE_WORKFLOW))
    kind: type[BaseModel] = Experiment
    for name in section:
        annotation = kind.model_fields[name].annotation if name in kind.model_fields else None
        candidates = [annotation, *(get_args(annotation) if get_origin(annotation) is dict else ())]
        kind = next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), kind)
    own = set(kind.model_fields)
    return sorted(own | set(Sweeping.model_fields) if issubclass(kind, Experiment) and not section else own)
