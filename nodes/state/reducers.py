"""The reducer of everything that several branches of a graph add to one list."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

Item = TypeVar("Item")


def union_by(*fields: str, latest: bool = False) -> Callable[[list[Item] | None, list[Item] | None], list[Item]]:
    """A reducer that keeps one item per key, in the order of the keys.

    Args:
        fields: the fields that are the key.
        latest: of two items under one key the later one stands, where one step revises what an earlier one wrote. Else
            the greater in spelling does, so that the outcome does not depend on which branch was first.
    """
    key = attrgetter(*fields)

    def union(left: list[Item] | None, right: list[Item] | None) -> list[Item]:
        kept: dict[Any, Item] = {}
        for item in (*(left or ()), *(right or ())):
            before = kept.setdefault(key(item), item)
            if latest or (before is not item and str(before) <= str(item)):
                kept[key(item)] = item
        return [kept[each] for each in sorted(kept)]

    return union
