"""The reducer for lists that several branches of a graph add to."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

Item = TypeVar("Item")


@cache  # since Python 3.14 an annotation is evaluated at each look, and a channel has one reducer
def union_by(*fields: str, latest: bool = False) -> Callable[[list[Item] | None, list[Item] | None], list[Item]]:
    """Return a reducer that keeps one item per key, in the order of the keys.

    Args:
        fields: the fields that form the key.
        latest: whether the later of two items with one key is kept, for steps that revise earlier results. Otherwise
            the last in string order is kept, so that the result does not depend on the order of the branches.
    """
    key = attrgetter(*fields)

    def union(left: list[Item] | None, right: list[Item] | None) -> list[Item]:
        items: dict[Any, Item] = {}
        for item in (*(left or ()), *(right or ())):
            before = items.setdefault(key(item), item)
            if latest or (before is not item and str(before) <= str(item)):
                items[key(item)] = item
        return [items[value] for value in sorted(items)]

    return union
