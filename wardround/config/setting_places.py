"""Settings by the place that they stand in: a key, and the sections above it, with where each was written."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from wardround.config.experiment import ConfigurationError

COMMAND_LINE = "command line"
MODEL_MAPS = ("models", "judges", "fixed")

Place = tuple[str, ...]  # a key and the sections that it stands in
Settings = dict[Place, tuple[Any, str]]  # each value with where it was written; what was laid later stands later


def leaves(tree: Mapping[str, Any], above: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The values of a tree of sections, each with its place; an empty section is a value."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value


def place_of(key: str) -> Place:
    """The place of a dotted key."""
    return whole(tuple(key.split(".")))


def whole(place: Place) -> Place:
    """A place with the roles of the model maps, which are dotted themselves, in one piece."""
    return (place[0], ".".join(place[1:])) if place[0] in MODEL_MAPS and len(place) > 1 else place


def block_at(place: Place) -> str:
    """The block of a model that a place is part of; empty if it is part of none."""
    return place[1] if place[0] == "model" and len(place) > 1 else ""


def given_models(settings: Settings) -> set[str]:
    """The models that roles are given, by spec or by the name of a block."""
    return {value for place, (value, _) in settings.items() if place[0] in MODEL_MAPS and isinstance(value, str)}


def within(place: Place, above: Place) -> bool:
    """Whether a place is another, or lies in it."""
    return place[: len(above)] == above


def nested(settings: Settings) -> dict[str, Any]:
    """Settings as the tree of sections that they stand in.

    Raises:
        ConfigurationError: a place lies in what has a value of its own.
    """
    tree: dict[str, Any] = {}
    for (*sections, last), (value, origin) in settings.items():
        here = tree
        for section in sections:
            here = here.setdefault(section, {})
            if not isinstance(here, dict):
                raise ConfigurationError(f"{origin}: {section}: expected a section, not {here!r}")
        here[last] = deepcopy(value)
    return tree


def origin_of(settings: Settings, place: Place, file: Path | None) -> str:
    """Where a value, or what it is part of, was written; without a file, also a section by one of its values."""
    of = [(laid, origin) for laid, (_, origin) in reversed(settings.items())]
    found = [origin for laid, origin in of if within(place, laid) or (file is None and within(laid, place))]
    return found[0] if found else str(file or COMMAND_LINE)


def laid_out(settings: Mapping[str, Any]) -> dict[Place, Any]:
    """Settings that stand in nested sections or, at the top, under dotted keys."""
    return {whole((*place_of(first), *rest)): value for (first, *rest), value in leaves(settings) if value != {}}
