"""The JSON schema that a model is shown for an answer type."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from cases.vocabulary import (
    AUXILIARY_ITEMS,
    DEPARTMENTS,
    EXAMINATION_ITEMS,
    OPTION,
    PHYSICAL_ITEMS,
    TREATMENT_ITEMS,
    Language,
    labels,
)

_FEW = 6  # terms that are told with a field's name
_VOCABULARIES = (DEPARTMENTS, PHYSICAL_ITEMS, AUXILIARY_ITEMS, EXAMINATION_ITEMS, TREATMENT_ITEMS)


@cache
def answer_schema(answer: type[BaseModel], language: Language, terms: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema in the strict form that servers accept.

    Every property is required, nothing else is allowed, and the terms of a closed vocabulary stand in the
    language of the prompt (answers in either language are understood).

    Args:
        answer: the type.
        language: of the prompt.
        terms: canonical names of what may be chosen where the question is put, if the type leaves it open.
    """
    strict: dict[str, Any] = _strict(answer.model_json_schema(), language, labels(terms, language))
    return strict


def outline(schema: Mapping[str, Any]) -> str:
    """The names of a form's fields, with nothing of the schema that a small model would say back."""
    return ", ".join(_fields(schema, schema))


def _fields(node: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """Each field of an object in turn: with its own fields, or the few terms that it may have."""
    for name, part in _part(node, schema).get("properties", {}).items():
        part = _part(part, schema)
        several = " []" if part.get("type") == "array" else ""
        part = _part(part.get("items", part), schema)
        inner = ", ".join(_fields(part, schema))
        terms = part.get("enum", ["true", "false"] if part.get("type") == "boolean" else ())
        few = f": {' | '.join(map(str, terms))}" if 0 < len(terms) <= _FEW else ""
        yield f"{name}{several}{f' ({inner})' if inner else few}"


def _part(node: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a place of the schema stands for: what it refers to, the first of its choices."""
    while "$ref" in node or "anyOf" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node["anyOf"][0]
    return dict(node)


def _strict(node: Any, language: Language, terms: Sequence[str]) -> Any:
    if isinstance(node, list):
        return [_strict(item, language, terms) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == OPTION:
        kept = {key: value for key, value in node.items() if key != "format"}
        return {**kept, "enum": list(terms)} if terms else kept
    result = {key: _strict(value, language, terms) for key, value in node.items() if key not in ("default", "title")}
    if "properties" in node:
        result["properties"] = {name: _strict(value, language, terms) for name, value in node["properties"].items()}
        result["required"] = list(node["properties"])
        result["additionalProperties"] = False
    for vocabulary in _VOCABULARIES:
        if node.get("enum") == list(vocabulary.names):
            result["enum"] = list(vocabulary.labels(language))
    return result
