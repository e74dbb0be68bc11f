"""Read answers that lack their type, but can mean only one that has it: for a spelling, no model is asked again.

The schema of the answer type says what was due. Only what leaves no doubt is changed, and the result must pass the type
and the role's check as any answer; the rest is left as it is, for the repair to name.
"""

import html
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from cases.text.numbers import chinese_number
from cases.text.sentences import entries
from cases.vocabulary import normalise, spelled, spellings_of
from llm.replies import answer_in, find_json, folded, without_list_marks
from llm.schema import resolved

# What models call an answer of one field instead of by the field's name.
_ANSWER = frozenset({"answer", "data", "output", "response", "result", "答案", "回答", "结果"})
_NOTHING = frozenset({"", "n/a", "none", "null", "无", "暂无", "没有", "不需要"})  # an empty list, in words
_TRUTHS = {**dict.fromkeys(("true", "yes", "是", "是的"), True), **dict.fromkeys(("false", "no", "否", "不是"), False)}
_BETWEEN_TERMS = re.compile(r"[;；、,，/|\n]|\band\b|以及|[和及与]")
_BETWEEN_TEXTS = re.compile(r"[;；\n]")
# What is in brackets belongs to what is before them.
_IN_BRACKETS = re.compile(r"[（(][^）)]{0,200}[;；\n]")
_ENTRY = frozenset({"name", "description"})  # the keys of an object that small models make of each name in a list
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A grade or place with its unit or its scale: 4分, 第4级, 四分, 2号, 4/5.
_COUNTED = re.compile(
    r"第?(?:(?P<digits>\d+(?:\.\d+)?)|(?P<han>[零一二三四五六七八九十]))"
    r"\s*(?:[分级号句条轮]|points?|(?:/|out of)\s*(?P<most>\d+)分?)?",
    re.IGNORECASE,
)
_GLOSSED = re.compile(r"([^（(:：]+)(?:[（(]([^（()）]+)[)）]|[:：]([^:：]+))")  # low（低）, 低（low）, A：全部掌握
_ESCAPED = re.compile(r"\{\s*&(?:quot|#34|#x22);")  # the beginning of an object, escaped as for a page
_LABEL = re.compile(r"^[ \t>#*_`-]{0,9}([^\W\d_][\w -]{0,40}?)[ *_`]{0,9}[:：][\s*_`]*", re.MULTILINE)


def object_in(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the JSON object in a reply, also an escaped one; in a reply without any, what the labels of fields name.

    A closed form of one field may also be answered by a term alone.

    Raises:
        ValueError: as :func:`llm.replies.find_json`.
    """
    if _ESCAPED.search(text) and '"' not in text:
        text = html.unescape(text)
    try:
        return find_json(text)
    except ValueError:
        words = "" if "{" in text else answer_in(text)
        if (found := _labelled(words, schema) or _term(words, schema)) is None:
            raise
        return found


def as_meant(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return an answer in the form of its schema, as far as there is no doubt; one that has it stays as it is."""
    fields = _fields(schema)
    if isinstance(value, dict) and len(value) == len(set(fields.values())) == 1:
        ((key, part),) = value.items()
        if not isinstance(part, dict) and folded(key) in fields:
            value = {fields[folded(key)]: part}
    return _meant(value, schema, schema)


def _fields(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form by what they may be called, folded."""
    names: list[str] = [*schema.get("properties", ())]
    only = dict.fromkeys(_ANSWER, names[0]) if len(names) == 1 else {}
    return {**only, **{folded(name): name for name in names}}


def _meant(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    if value is None and {"type": "null"} in node.get("anyOf", ()):
        return None
    node = resolved(node, schema)
    kind = node.get("type")
    if kind in _READ and kind != "array" and isinstance(value, list) and len(value) == 1:
        (value,) = value
    return _READ[kind](value, node, schema) if kind in _READ else value


def _object(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    fields = node.get("properties", {})
    if not isinstance(value, dict):
        return value
    names = {folded(name): name for name in fields}
    named = {key: key if key in fields or folded(key) not in names else names[folded(key)] for key in value}
    if len(set(named.values())) < len(named):  # two spellings of one field
        return value
    nodes = {name: fields.get(name, {}) for name in named.values()}
    return {name: _meant(_bare(value[key], nodes[name], schema), nodes[name], schema) for key, name in named.items()}


def _bare(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Return the term of a closed choice without the words that explain it, in brackets or after a colon.

    Not if these name another term, nor of a list's items, whose words may deny them: ``CT（暂不做）``.
    """
    if not (isinstance(value, str) and (found := _GLOSSED.fullmatch(value.strip()))):
        return value
    terms = [*resolved(node, schema).get("enum", ())]
    given = [part.strip() for part in found.groups() if part and _terms(part, terms)]
    if len(given) != 1:
        return value
    words = normalise(value.replace(given[0], "", 1))
    others = {normalise(str(term)) for term in terms} - {normalise(given[0])}
    return value if any(spelled(other).search(words) for other in others) else given[0]


def _list(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    items = resolved(node.get("items", {}), schema)
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    if only is None or (isinstance(only, str) and only.strip().casefold() in _NOTHING):
        return []
    if isinstance(value, str):
        parts = _parts(value, items)
    elif isinstance(value, list) and "enum" in items:
        parts = [one for part in value for one in _terms(part, items["enum"]) or [part]]
    else:
        parts = value if isinstance(value, list) else [value]
    return value if parts is None else [_meant(part, items, schema) for part in parts]


def _parts(text: str, items: Mapping[str, Any]) -> list[Any] | None:
    """Return the items of a list that came as one text; None if they cannot be told apart for certain."""
    if "enum" in items:
        return _terms(text, items["enum"])
    if items.get("type") in ("integer", "number"):
        numbers = _split(_BETWEEN_TERMS, text)
        return numbers if all(map(_NUMBER.fullmatch, numbers)) else None
    if items.get("type") != "string" or _IN_BRACKETS.search(text):
        return None
    if len(numbered := entries(text)) > 1:
        return [*numbered]
    parts: list[Any] = without_list_marks(_split(_BETWEEN_TEXTS, text))
    return None if len(parts) < 2 and _BETWEEN_TERMS.search(text) else parts  # a comma may stand within a diagnosis


def _terms(text: Any, terms: list[Any]) -> list[str] | None:
    """Return the terms of a closed list that a text names, which may have separators themselves; None if not all are.

    What is wholly a term is not split.
    """
    if not isinstance(text, str):
        return None
    known = _spellings(tuple(map(str, terms)))
    parts = [text] if normalise(text) in known else _split(_BETWEEN_TERMS, text)
    return parts if parts and all(normalise(part) in known for part in parts) else None


def _split(between: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in between.split(text) if part.strip()]


@lru_cache(maxsize=256)
def _spellings(terms: tuple[str, ...]) -> frozenset[str]:
    return frozenset(normalise(spelling) for term in terms for spelling in (term, *spellings_of(term)))


def _text(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and "name" in value and value.keys() <= _ENTRY:
        value = value["name"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or value in node.get("enum", (value,)):
        return value
    alike = [term for term in node["enum"] if isinstance(term, str) and normalise(term) == normalise(value)]
    return alike[0] if len(alike) == 1 else value


def _number(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Return the number of a text that names its unit, or the end of the field's own scale."""
    found = _COUNTED.fullmatch(normalize("NFKC", value).strip()) if isinstance(value, str) else None
    if found is None:
        return value
    most = node.get("maximum", max(node.get("enum", ()), default=None))
    if found["most"] and float(found["most"]) != most:
        return value
    number = float(found["digits"]) if found["digits"] else chinese_number(found["han"])
    return int(number) if number is not None and number.is_integer() else number


def _truth(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    return _TRUTHS.get(normalise(value), value) if isinstance(value, str) else value


_READ: Mapping[Any, Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any]] = {
    "object": _object,
    "array": _list,
    "string": _text,
    "boolean": _truth,
    **dict.fromkeys(("integer", "number"), _number),
}


def _labelled(words: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what stands behind the labels of a form's fields, as in ``**Department:** Surgery``.

    None if a field has no label or two, or something stands before the first.
    """
    fields = _fields(schema)
    labels = [found for found in _LABEL.finditer(words) if folded(found[1]) in fields]
    names = [fields[folded(found[1])] for found in labels]
    if not labels or words[: labels[0].start()].strip() or sorted(names) != sorted(set(fields.values())):
        return None
    ends = [*(found.start() for found in labels[1:]), len(words)]
    parts = [words[found.end() : end].strip(" \t\r\n*") for found, end in zip(labels, ends, strict=True)]
    return dict(zip(names, parts, strict=True))


def _term(words: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a reply that only says yes, no, or terms of a closed list as the one field of its form; else None."""
    fields = [(name, resolved(node, schema)) for name, node in schema.get("properties", {}).items()]
    if len(fields) != 1:
        return None
    ((name, node),) = fields
    of_one = resolved(node.get("items", node), schema)
    found = _terms(words, [*of_one.get("enum", _TRUTHS if of_one.get("type") == "boolean" else ())])
    return {name: words} if found and ("items" in node or len(found) == 1) else None
