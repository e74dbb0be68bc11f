"""The JSON schema of an answer type as it is sent to a model."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from cases.validation import InputError
from cases.vocabulary import CLOSED_LISTS, OPTION, Language, labels
from llm.replies import mapped
from prompts import cached_with_prompts, load_descriptions

if sys.flags.optimize > 1:
    raise InputError(
        "Python's -OO (PYTHONOPTIMIZE=2) removes the descriptions of answers, which models are sent; "
        "start Python without it, or with -O"
    )

_FEW = 6  # at most this many terms are shown beside a field's name


@cached_with_prompts
def answer_schema(answer: type[BaseModel], language: Language, terms: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema in the strict form that servers accept.

    Every property is required, no others are allowed, and the terms of a closed vocabulary are in the language of the
    prompt (answers are understood in either language). So are descriptions, where the language has words for them
    (``ask/answers.toml``); the code has them in English.

    Args:
        answer: the type.
        language: of the prompt.
        terms: canonical names of the options at this stage, if the type leaves them open.
    """
    words = load_descriptions(language)
    strict = _strict(answer.model_json_schema(), language, labels(terms, language))
    return dict(mapped(strict, lambda node: _described(node, words)))


def _described(node: Any, words: Mapping[str, str]) -> Any:
    if isinstance(node, dict) and isinstance(text := node.get("description"), str):  # no property of that name
        return {**node, "description": words.get(text, text)}
    return node


def outline(schema: Mapping[str, Any]) -> str:
    """Return the names of a schema's fields, without any text that a small model would repeat."""
    return ", ".join(_fields(schema, schema))


def _fields(node: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield each field of an object with its own fields or, if few, its allowed terms."""
    for name, part in resolved(node, schema).get("properties", {}).items():
        part = resolved(part, schema)
        several = " []" if part.get("type") == "array" else ""
        part = resolved(part.get("items", part), schema)
        inner = ", ".join(_fields(part, schema))
        terms = part.get("enum", ["true", "false"] if part.get("type") == "boolean" else ())
        few = f": {' | '.join(map(str, terms))}" if 0 < len(terms) <= _FEW else ""
        yield f"{name}{several}{f' ({inner})' if inner else few}"


def resolved(node: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve references in a node of the schema, and take the first of its alternatives."""
    while "$ref" in node or "anyOf" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node["anyOf"][0]
    return dict(node)


def _strict(node: Any, language: Language, terms: Sequence[str]) -> Any:
    if isinstance(node, list):
        return [_strict(item, language, terms) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == OPTION:
        others = {key: value for key, value in node.items() if key != "format"}
        return {**others, "enum": list(terms)} if terms else others
    result = {key: _strict(value, language, terms) for key, value in node.items() if key not in ("default", "title")}
    if "properties" in node:
        result["properties"] = {name: _strict(value, language, terms) for name, value in node["properties"].items()}
        result["required"] = list(node["properties"])
        result["additionalProperties"] = False
    for vocabulary in CLOSED_LISTS:
        if node.get("enum") == list(vocabulary.names):
            result["enum"] = list(vocabulary.labels(language))
    return result
