"""Sections within sections, as in experiment files and in the wordings of prompts."""

from collections.abc import Iterator, Mapping
from typing import Any


def leaves(tree: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of a tree of sections, each with its place; an empty section counts as a value."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value
