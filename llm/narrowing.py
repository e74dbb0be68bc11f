"""The form of the last repair: what words have not mended, the grammar of a server may.

Where answers are bound by a grammar, so are lengths and closed lists, but seldom the bounds of a number. A small model
that overruns its tokens, or a scale, three times would else never give an answer.
"""

import math
from collections.abc import Mapping
from typing import Any

_MOST_ITEMS = (8, 5, 3, 2, 1)  # of a list, the most that leaves every text its least
_LEAST_TEXT = 60  # characters
_SHARE = 0.7  # of the characters that were cut off: the rest is room for line ends and indents
_LONGEST_NUMBER = 20  # characters, about
_STEPS = 100  # numbers of a scale that are listed at most
_HALVES = 20  # a scale up to here goes by halves, a longer one by ones


def narrowed(schema: Mapping[str, Any], characters: int | None) -> dict[str, Any]:
    """A schema with every scale as the list of its numbers, and, if told, texts and lists that fit.

    ``characters``: how much came of an answer that was too long; None if it was not.
    """
    lengths: dict[str, int] = {}
    if characters is not None:
        for items in _MOST_ITEMS:
            texts, rest = _size(schema, schema, items)
            longest = int((_SHARE * characters - rest) / texts) if texts else 0
            if longest >= _LEAST_TEXT:
                break
        lengths = {"maxLength": max(longest, _LEAST_TEXT), "maxItems": items}
    result: dict[str, Any] = _bound(schema, lengths)
    return result


def _bound(node: Any, lengths: Mapping[str, int]) -> Any:
    if isinstance(node, list):
        return [_bound(part, lengths) for part in node]
    if not isinstance(node, Mapping):
        return node
    result = {key: _bound(part, lengths) for key, part in node.items()}
    if node.get("type") in ("number", "integer") and (scale := _scale(node)):
        kept = {key: part for key, part in result.items() if key not in ("minimum", "maximum")}
        return {**kept, "enum": scale}
    if lengths and node.get("type") == "array":
        result["maxItems"] = _most(node, lengths["maxItems"])
    elif lengths and node.get("type") == "string" and not {"enum", "const", "pattern", "format"} & node.keys():
        result["maxLength"] = min(lengths["maxLength"], node.get("maxLength", math.inf))
    return result


def _most(array: Mapping[str, Any], items: int) -> int:
    """How many items a list may have."""
    return int(min(max(items, array.get("minItems", 0)), array.get("maxItems", math.inf)))


def _scale(number: Mapping[str, Any]) -> list[float]:
    """The numbers of a closed scale, whole ones as such; none if it is open or too long."""
    low, high = number.get("minimum"), number.get("maximum")
    if low is None or high is None or high - low > _STEPS:
        return []
    step = 0.5 if number["type"] == "number" and high - low <= _HALVES else 1
    values = (low + step * index for index in range(int((high - low) / step) + 1))
    return [int(value) if value == int(value) else value for value in values]


def _size(node: Mapping[str, Any], schema: Mapping[str, Any], items: int) -> tuple[int, int]:
    """How many free texts an answer may have, with so many items in a list, and about how long the rest of it is."""
    if "$ref" in node:
        return _size(schema["$defs"][node["$ref"].rpartition("/")[2]], schema, items)
    if choices := node.get("anyOf"):
        sizes = [_size(choice, schema, items) for choice in choices]
        return max(texts for texts, _ in sizes), max(rest for _, rest in sizes)
    if node.get("type") == "object":
        parts = {name: _size(part, schema, items) for name, part in node.get("properties", {}).items()}
        return sum(texts for texts, _ in parts.values()), sum(len(name) + 6 + parts[name][1] for name in parts)
    if node.get("type") == "array":
        texts, rest = _size(node.get("items", {}), schema, items)
        most = _most(node, items)
        return most * texts, most * (rest + 2)
    if terms := node.get("enum"):
        return 0, max(len(str(term)) for term in terms) + 2
    return (1, 2) if node.get("type") == "string" else (0, _LONGEST_NUMBER)
