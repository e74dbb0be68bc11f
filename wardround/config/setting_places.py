"""Settings by place: a key and its sections, with where each was written."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from wardround.config.experiment import ConfigurationError, leaves

COMMAND_LINE = "command line"
MODEL_MAPS = ("models", "judges", "fixed")

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
        section_values[last] = deepcopy(value)
    return tree


def origin_of(settings: Settings, place: Place, file: Path | None) -> str:
    """Return where a value, or its section, was written; without a file, also a section by one of its values."""
    candidates = [(known, origin) for known, (_, origin) in reversed(settings.items())]
    found = [origin for known, origin in candidates if within(place, known) or (file is None and within(known, place))]
    return found[0] if found else str(file or COMMAND_LINE)


def laid_out(settings: Mapping[str, Any]) -> dict[Place, Any]:
    """Flatten settings given in nested sections or, at the top, under dotted keys."""
    return {whole((*place_of(first), *rest)): value for (first, *rest), value in leaves(settings) if value != {}}
