"""The narrower schema of the last repair: a server's grammar may enforce what words did not.

Servers that enforce a grammar enforce lengths and closed lists, but seldom the range of a number. Without this, a small
model that three times exceeds its tokens or a scale would never give a valid answer.
"""

import math
from collections.abc import Mapping
from typing import Any

from llm.replies import mapped

_ITEM_LIMITS = (8, 5, 3, 2, 1)  # list lengths to try, until each text has its minimum
_LEAST_TEXT = 60  # characters
_SHARE = 0.7  # of the characters of the cut-off reply; the rest allows for line breaks and indentation
_LONGEST_NUMBER = 20  # characters, roughly
_STEPS = 100  # the longest scale that is listed
_LONGEST_HALF_SCALE = 20  # scales up to this length have half steps, longer ones whole steps


def narrowed(schema: Mapping[str, Any], characters: int | None) -> dict[str, Any]:
    """Return the schema with each scale as a list of its numbers and, if given, limits on texts and lists.

    ``characters`` is the length of a reply that was cut off; None if it was not.
    """
    lengths: dict[str, int] = {}
    if characters is not None:
        for items in _ITEM_LIMITS:
            texts, rest = _size(schema, schema, items)
            longest = int((_SHARE * characters - rest) / max(texts, 1))  # terms alone need room too
            if longest >= _LEAST_TEXT:
                break
        lengths = {"maxLength": max(longest, _LEAST_TEXT), "maxItems": items}
    return dict(mapped(dict(schema), lambda node: _bound(node, lengths)))


def _bound(node: Any, lengths: Mapping[str, int]) -> Any:
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("number", "integer") and (scale := _scale(node)):
        others = {key: part for key, part in node.items() if key not in ("minimum", "maximum")}
        return {**others, "enum": scale}
    if lengths and node.get("type") == "array":
        return {**node, "maxItems": _item_limit(node, lengths["maxItems"])}
    if lengths and node.get("type") == "string" and not {"enum", "const", "pattern", "format"} & node.keys():
        # Never below its least length: llama.cpp takes all memory for a text that cannot be.
        longest = max(lengths["maxLength"], node.get("minLength", 0))
        return {**node, "maxLength": min(longest, node.get("maxLength", math.inf))}
    return node


def _item_limit(array: Mapping[str, Any], items: int) -> int:
    """Return the maximum length of a list."""
    return int(min(max(items, array.get("minItems", 0)), array.get("maxItems", math.inf)))


def _scale(number: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a closed scale, whole ones as integers; empty if it is open or too long."""
    low, high = number.get("minimum"), number.get("maximum")
    if low is None or high is None or high - low > _STEPS:
        return []
    step = 0.5 if number["type"] == "number" and high - low <= _LONGEST_HALF_SCALE else 1
    values = (low + step * index for index in range(int((high - low) / step) + 1))
    return [int(value) if value == int(value) else value for value in values]


def _size(node: Mapping[str, Any], schema: Mapping[str, Any], items: int) -> tuple[int, int]:
    """Return the number of free texts in an answer with lists of ``items``, and the approximate length of the rest."""
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
        most = _item_limit(node, items)
        return most * texts, most * (rest + 2)
    if terms := node.get("enum"):
        return 0, max(len(str(term)) for term in terms) + 2
    return (1, 2) if node.get("type") == "string" else (0, _LONGEST_NUMBER)
