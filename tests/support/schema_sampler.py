"""Draw instances of a JSON schema with a seeded generator: the fake server's default answers."""

import copy
import math
import random
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any] | bool

_DEEP = 6  # from this depth on, alternatives without nesting are preferred


def sample(schema: Schema, rng: random.Random) -> Any:
    """Return an instance of the schema.

    Booleans are true, so that judges accept. The first alternative that is not null is chosen, and optional properties
    are included. ``pattern`` and ``format`` are ignored.
    """
    return _sample(schema, rng, schema, "answer", 0)


def violate(value: Any, schema: Schema) -> Any:
    """Return JSON that violates the schema that ``value`` satisfies: wrong types, and a missing field."""
    if not isinstance(value, dict):
        return {"unexpected": "an object"}
    required = [] if isinstance(schema, bool) else resolve(schema, schema).get("required", [])
    missing = required[0] if required else None
    return {name: _wrong(item) for name, item in value.items() if name != missing}


def resolve(schema: Mapping[str, Any], root: Schema) -> Mapping[str, Any]:
    """Return the schema with a top-level reference resolved and ``allOf`` merged."""
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part] if part else target
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "allOf" in schema:
        merged: dict[str, Any] = {key: copy.copy(value) for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            for key, value in resolve(part, root).items():
                if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
                    merged[key] = {**merged[key], **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, []), *value]
                else:
                    merged[key] = value
        return merged
    return schema


def _wrong(value: Any) -> Any:
    return "not a list" if isinstance(value, list) else ["not", "this", "type"]


def _sample(schema: Schema, rng: random.Random, root: Schema, name: str, depth: int) -> Any:
    if isinstance(schema, bool):
        return f"sample {name}"
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _sample(_alternative(schema[key], root, depth), rng, root, name, depth)
    match _type(schema, depth):
        case "object":
            return _object(schema, rng, root, depth)
        case "array":
            return _array(schema, rng, root, name, depth)
        case "integer":
            return _integer(schema, rng)
        case "number":
            return _number(schema, rng)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _string(schema, rng, name)


def _type(schema: Mapping[str, Any], depth: int) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        if depth >= _DEEP and "null" in kinds:
            return "null"
        return next((str(kind) for kind in kinds if kind != "null"), "null")
    if kinds is None:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(kinds)


def _alternative(alternatives: list[Schema], root: Schema, depth: int) -> Schema:
    """Return the first alternative that is not null; from ``_DEEP`` on, the first that does not nest."""
    kinds = [None if isinstance(each, bool) else _type(resolve(each, root), 0) for each in alternatives]
    if depth >= _DEEP:
        flat = [each for each, kind in zip(alternatives, kinds, strict=True) if kind not in ("object", "array")]
        if flat:
            return flat[0]
    return next((each for each, kind in zip(alternatives, kinds, strict=True) if kind != "null"), alternatives[0])


def _object(schema: Mapping[str, Any], rng: random.Random, root: Schema, depth: int) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    required = schema.get("required", [])
    wanted = properties if depth < _DEEP else {name: properties[name] for name in required if name in properties}
    instance = {name: _sample(value, rng, root, name, depth + 1) for name, value in wanted.items()}
    values = schema.get("additionalProperties")
    if not properties and isinstance(values, Mapping) and depth < _DEEP:
        instance["key"] = _sample(values, rng, root, "key", depth + 1)
    return instance


def _array(schema: Mapping[str, Any], rng: random.Random, root: Schema, name: str, depth: int) -> list[Any]:
    if "prefixItems" in schema:
        return [_sample(item, rng, root, name, depth + 1) for item in schema["prefixItems"]]
    fewest = schema.get("minItems", 0)
    most = schema.get("maxItems", max(fewest, 2))
    length = fewest if depth >= _DEEP else rng.randint(max(fewest, min(1, most)), min(most, max(fewest, 2)))
    items: list[Any] = []
    for _ in range(length * 20):  # retries for uniqueItems
        if len(items) == length:
            break
        item = _sample(schema.get("items", True), rng, root, name, depth + 1)
        if not (schema.get("uniqueItems") and item in items):
            items.append(item)
    return items


def _integer(schema: Mapping[str, Any], rng: random.Random) -> int:
    step = int(schema.get("multipleOf", 1))
    low = schema.get("minimum")
    if low is None and "exclusiveMinimum" in schema:
        low = math.floor(schema["exclusiveMinimum"]) + 1
    high = schema.get("maximum")
    if high is None and "exclusiveMaximum" in schema:
        high = math.ceil(schema["exclusiveMaximum"]) - 1
    if low is None:
        low = 0 if high is None else min(0, high)
    first = math.ceil(low / step)
    last = first + 10 if high is None else math.floor(high / step)
    return rng.randint(first, max(first, last)) * step


def _number(schema: Mapping[str, Any], rng: random.Random) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = 0.0 if high is None else high - 1.0
    if high is None:
        high = low + 1.0
    return float(low + (high - low) * rng.choice((0.25, 0.5, 0.75)))


def _string(schema: Mapping[str, Any], rng: random.Random, name: str) -> str:
    text = f"Sample {name.replace('_', ' ')} {rng.randrange(16**4):04x}"
    text = text.ljust(schema.get("minLength", 0), ".")
    return text[: schema["maxLength"]] if "maxLength" in schema else text
