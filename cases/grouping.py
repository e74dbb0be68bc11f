"""Group values by a key, and count those that occur again."""

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def repetitions(values: Iterable[Value]) -> dict[Value, int]:
    """Return how often each value occurs of those that occur more than once."""
    return {value: count for value, count in Counter(values).items() if count > 1}
