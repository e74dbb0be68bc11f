"""Settings by place (a key and its sections, with where each was written), and what invalid ones are refused with."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from cases.validation import faults, nearest
from graphs.contexts import CONTEXTS
from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, ConfigurationError, Experiment
from wardround.config.sections import leaves
from wardround.config.sweeping import Sweeping

COMMAND_LINE = "command line"
MODEL_MAPS = ("models", "judges", "fixed")
_SECTIONS = ("workflow", "data", "run")  # their keys may be written without the section
_SIMILARITY = 0.8  # minimum similarity to suggest a key of another section

Place = tuple[str, ...]  # a key after its sections
Settings = dict[Place, tuple[Any, str]]  # each value with where it was written; later settings come later


def place_of(key: str) -> Place:
    """Return the place of a dotted key."""
    return whole(tuple(key.split(".")))


def whole(place: Place) -> Place:
    """Return a place with the (dotted) roles of model maps in one piece."""
    return (place[0], ".".join(place[1:])) if place[0] in MODEL_MAPS and len(place) > 1 else place


def block_at(place: Place) -> str:
    """Return the [model.NAME] block that a place is in; empty if none."""
    return place[1] if place[0] == "model" and len(place) > 1 else ""


def given_models(settings: Settings) -> set[str]:
    """Return the models given to roles, by spec or block name."""
    return {value for place, (value, _) in settings.items() if place[0] in MODEL_MAPS and isinstance(value, str)}


def within(place: Place, above: Place) -> bool:
    """Whether a place equals another, or lies inside it."""
    return place[: len(above)] == above


def nested(settings: Settings) -> dict[str, Any]:
    """Return settings as the tree of their sections.

    Raises:
        ConfigurationError: a place lies inside one that has a value itself.
    """
    tree: dict[str, Any] = {}
    for (*sections, last), (value, origin) in settings.items():
        section_values = tree
        for section in sections:
            section_values = section_values.setdefault(section, {})
            if not isinstance(section_values, dict):
                raise ConfigurationError(f"{origin}: {section}: expected a section, not {section_values!r}")
        # A model object is used as it is: it may hold what cannot be copied, such as a lock.
        section_values[last] = deepcopy(value) if isinstance(value, dict | list) else value
    return tree


def origin_of(settings: Settings, place: Place, file: Path | None) -> str:
    """Return where a value, or its section, was written; without a file, also a section by one of its values."""
    candidates = [(known, origin) for known, (_, origin) in reversed(settings.items())]
    found = [origin for known, origin in candidates if within(place, known) or (file is None and within(known, place))]
    return found[0] if found else str(file or COMMAND_LINE)


def laid_out(settings: Mapping[str, Any]) -> dict[Place, Any]:
    """Flatten settings given in nested sections or, at the top, under dotted keys; a known section may be empty."""
    placed = {whole((*place_of(first), *rest)): value for (first, *rest), value in leaves(settings)}
    return {at: value for at, value in placed.items() if value != {} or at[-1] not in known_keys(at[:-1])}


def refusal(error: ValidationError, settings: Settings, file: Path | None, section: str = "") -> ConfigurationError:
    """Describe each fault with where it was written (a file or the command line) and its key."""
    messages = []
    found = faults(error)
    # A name that a plug-in would have added is unknown only for that reason.
    for detail in [one for one in found if one["loc"][:1] == ("plugins",)] or found:
        place = tuple(str(part) for part in detail["loc"])
        if section and place[:1] != ("models",):
            place = (section, *place)
        message = detail["msg"]
        if parts := re.match(r"'(\w+)' is (not a setting of the graph '(\w+)': )(.*)", message):
            place = (*place, parts[1])
            message = parts[2] + (parts[4] if parts[4].startswith("it belongs to") else _suggestion(place, parts[3]))
        if detail["type"] == "extra_forbidden":
            message = f"unknown key; {_suggestion(place)}"
        key = "" if message.startswith(MODEL_MAPS) else ".".join(place)
        messages.append(": ".join(part for part in (origin_of(settings, place, file), key, message) if part))
    return ConfigurationError("\n".join(messages))


def _suggestion(place: Sequence[str], graph: str | None = None) -> str:
    """Say where an unknown key belongs: in another section that has it, or as the most similar name.

    ``graph`` is the one that obeys no such setting, so that only its own are suggested.
    """
    *section, key = place
    if list(place) == ["context"]:  # its name in Python
        return "settings of the graph belong in [workflow]"
    if not section and key in Sweeping.model_fields:  # known in a file, so this is a mapping given from Python
        return "it belongs in a file, for `wardround run FILE` or wr.run_sweep; run_experiment runs one experiment"
    sections = {name: home for home in ("", *_SECTIONS) if [home] != section for name in known_keys(home.split())}
    if sections.get(key):
        return f"it belongs in [{sections[key]}]"
    own = [name for name in known_keys(section) if graph is None or name in CONTEXTS[graph].model_fields]
    if len(section) == 1 and not get_close_matches(key, own, 1, _SIMILARITY):
        for name in get_close_matches(key, sections, 1, _SIMILARITY):
            whose = f"of [{sections[name]}]" if sections[name] else "which is of no section"
            return f"did you mean {name!r}, {whose}?"
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
