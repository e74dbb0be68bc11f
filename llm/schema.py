"""The JSON schema that a model is shown for an answer type."""

from functools import cache
from typing import Any

from pydantic import BaseModel

from cases.vocabulary import (
    AUXILIARY_ITEMS,
    DEPARTMENTS,
    EXAMINATION_ITEMS,
    PHYSICAL_ITEMS,
    TREATMENT_ITEMS,
    Language,
)

_VOCABULARIES = (DEPARTMENTS, PHYSICAL_ITEMS, AUXILIARY_ITEMS, EXAMINATION_ITEMS, TREATMENT_ITEMS)


@cache
def answer_schema(answer: type[BaseModel], language: Language) -> dict[str, Any]:
    """The schema in the strict form that servers accept.

    Every property is required, nothing else is allowed, and the terms of a closed vocabulary stand in the
    language of the prompt (answers in either language are understood).
    """
    schema = answer.model_json_schema()
    strict: dict[str, Any] = _strict(schema, language)
    return strict


def _strict(node: Any, language: Language) -> Any:
    if isinstance(node, list):
        return [_strict(item, language) for item in node]
    if not isinstance(node, dict):
        return node
    result = {key: _strict(value, language) for key, value in node.items() if key not in ("default", "title")}
    if "properties" in node:
        result["properties"] = {name: _strict(value, language) for name, value in node["properties"].items()}
        result["required"] = list(node["properties"])
        result["additionalProperties"] = False
    for vocabulary in _VOCABULARIES:
        if node.get("enum") == list(vocabulary.names):
            result["enum"] = list(vocabulary.labels(language))
    return result
