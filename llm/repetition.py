"""Detect replies that say nothing: loops, and echoes of the schema or the prompt."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import chain
from math import ceil
from typing import Any

from cases.text.sentences import pieces
from llm.replies import each_value, find_json, mapped, texts_in

LONGEST_ECHO = 160  # characters at the end of a text that may repeat earlier text, as a summary does
_LONGEST_AT_THE_LIMIT = 40  # the same of a reply that was cut off, which has to be asked for again anyway
_BOUNDED = 0.75  # of a loop's last sentence: as before ("... has been diagnosed with", "... has been diagnosed by")
_IN_A_ROW = re.compile(r"(.{1,120}?)\1{5,}", re.DOTALL)  # six or more copies in a row
_PART = 20  # characters; any loop longer than LONGEST_ECHO contains such a part of the text, and its next copy
_KEYWORDS = ("additionalProperties", "minItems", "minLength", "uniqueItems")  # never words of an answer
_OF_SCHEMAS = {"$defs", "additionalProperties", "description", "properties", "required", "title", "type"}
_TYPES = ("string", "array", "object", "integer", "number", "boolean", "null", "properties", "required", "items")
_OF_FORMS = ("the", "description", "text", "value", "name", "field", "list", "answer")  # added to a field's name
# The marks that fence material and schemas in our prompts, complete or begun.
_FENCES = re.compile(r"</?data\b(?: ?name=)?(?: ?\"[^\"]*\"?)?>?|```\w*", re.IGNORECASE)
_BRACKETS = re.compile(r"[\s\[\]{}\",:]+")  # what remains of an empty form
# Material, and text to be said verbatim.
_MATERIAL = re.compile(r"<data [^>]*>.*?</data>|\"[^\"\n]*\"|“[^”\n]{0,2000}”", re.DOTALL)
_SENTENCE, _REMARK = 6, 4  # words of a sentence and of a remark at least; a Chinese character counts half
_PART_END = re.compile(r"[:;：；\n]")
_COLON = re.compile(r"[:：]")
_RUN = (12, 24)  # words, or Chinese characters, that are not the same by chance
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")
_MARK = re.compile(r"^\W*(?:\d+\W+)?")  # list markers


class LoopError(ValueError):
    """The reply repeats itself over and over."""


class EchoError(ValueError):
    """The reply repeats the schema or the prompt instead of answering."""


def without_loops(reply: str, *, cut: bool = False) -> str:
    """Cut a reply where it only repeats itself; in a JSON object, each text separately.

    ``cut``: whether the limit of tokens cut it off. If that is low, a loop is short, and it goes on to the end.
    """
    return _map_reply(reply, partial(_cut, at_the_limit=cut))


def without_fences(reply: str) -> str:
    """Remove our prompts' fences and bare brackets from a reply's texts; an incomplete object stays as it is."""
    return _map_reply(reply, lambda text: text if text is reply and "{" in text else _unfenced(text))


def names_in(schema: Mapping[str, Any], headings: Iterable[str]) -> frozenset[str]:
    """Return the names of fields, types and headings, except those that are terms of a closed list."""
    names = {*(_TYPES if schema else ()), *headings}
    for node in _objects_in(schema):
        names.update(*(node[key] for key in ("properties", "$defs") if isinstance(node.get(key), dict)))
    return frozenset(map(_bare, names)) - _terms_in(schema)


def without_names(reply: str, names: Set[str], schema: Mapping[str, Any]) -> str:
    """Empty each text of a reply that is only a name of the schema or of the prompt's material.

    An identifier that is made up of such a name and words of the form ("symptoms_description") is one too, unless it is
    a term of a closed list; one that says something of its own is not ("type_2_diabetes").
    """

    def is_name(text: str) -> bool:
        words = _bare(text)
        made_of = set(words.split("_")) if " " not in words else set()
        if words in names or names.isdisjoint(made_of) or words in _terms_in(schema):
            return words in names
        return made_of <= {"", *_OF_FORMS, *_bare(" ".join(_descriptions_in(schema))).split(), *" ".join(names).split()}

    return _map_reply(reply, lambda text: "" if is_name(text) else text)


def _objects_in(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (node for node in each_value(schema) if isinstance(node, dict))


def _descriptions_in(schema: Mapping[str, Any]) -> Iterator[str]:
    return (text for node in _objects_in(schema) if isinstance(text := node.get("description"), str))


def _terms_in(schema: Mapping[str, Any]) -> set[str]:
    """Return the terms of the schema's closed lists."""
    listed = [node["enum"] for node in _objects_in(schema) if isinstance(node.get("enum"), list)]
    single = [node["const"] for node in _objects_in(schema) if isinstance(node.get("const"), str)]
    return {_bare(str(term)) for term in (*chain.from_iterable(listed), *single)}


def directions_in(prompt: str) -> set[str]:
    """Return the sentences of a prompt that are instructions, without its material and quotations.

    What follows a colon is one of its own: "Now speak to the patient: ask one question."
    """
    instructions = _MATERIAL.sub("\n", prompt)
    return {*_sentences(instructions), *_sentences(_COLON.sub("\n", instructions))}


def says_directions(text: str, directions: Set[str]) -> bool:
    """Whether a text contains a sentence of its own instructions."""
    return not directions.isdisjoint(_sentences(text))


def remarks_in(repair: str, reply: str) -> set[str]:
    """Return what a repair says about a reply, part by part, without the reply's own words."""
    own, parts = _bare(reply), (part for piece in pieces(_FENCES.sub("\n", repair)) for part in _PART_END.split(piece))
    return {_bare(part) for part in parts if _length(_bare(part)) >= _REMARK and _bare(part) not in own}


def says_remarks(reply: str, remarks: Set[str]) -> bool:
    """Whether a text of a reply contains what a repair said about an earlier one."""
    try:
        texts = [*texts_in(find_json(reply))]
    except ValueError:
        texts = [reply]
    return any(remark in _bare(text) for text in texts for remark in remarks)


def copies(text: str, prompt: str, less: str) -> bool:
    """Whether a text contains a run of words that is in a prompt but not in ``less``, a shorter version of it."""
    return bool((_runs(text) & _runs(prompt)) - _runs(less))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    run = _RUN[any("\u4e00" <= word <= "\u9fff" for word in words)]
    return {tuple(words[start : start + run]) for start in range(len(words) - run + 1)}


def _unfenced(text: str) -> str:
    bare = _FENCES.sub("", text).strip().rstrip("[{ \n") if _FENCES.search(text) else text
    return "" if _BRACKETS.fullmatch(bare) else bare


def _sentences(text: str) -> Iterator[str]:
    for piece in pieces(text):
        if _length(words := _bare(piece)) >= _SENTENCE:
            yield words


def _length(words: str) -> float:
    return sum(0.5 if "\u4e00" <= word <= "\u9fff" else 1 for word in words.split())


def echoes(reply: str, schema: Mapping[str, Any]) -> bool:
    """Whether the reply is a schema, whole or cut off, or a text of it is a description or keyword of the schema."""
    try:
        found = find_json(reply)
    except ValueError:
        return any(f'"{word}":' in reply for word in _KEYWORDS)
    if _is_schema(found) and "properties" not in schema.get("properties", {}):
        return True
    texts = set(map(str.strip, texts_in(found)))
    return not texts.isdisjoint({*_KEYWORDS, *map(str.strip, _descriptions_in(schema))})


def _is_schema(found: Any) -> bool:
    """Whether an object is a schema; one with `properties` alone is a form that was filled in (`unwrapped`)."""
    return isinstance(found, dict) and {"properties"} < found.keys() <= _OF_SCHEMAS


def undescribed(schema: Any) -> Any:
    """Return a schema without its descriptions; a property named `description` stays."""

    def bare(node: Any) -> Any:
        described = isinstance(node, dict) and isinstance(node.get("description"), str)
        return {key: part for key, part in node.items() if key != "description"} if described else node

    return mapped(schema, bare)


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _cut(text: str, at_the_limit: bool) -> str:
    longest = _LONGEST_AT_THE_LIMIT if at_the_limit else LONGEST_ECHO
    if len(text) <= longest:
        return text
    seen, again = set[str](), list[str]()
    end = start = 0
    for piece in pieces(text):
        before, start = start, start + len(piece)
        sentence = _MARK.sub("", piece).strip().casefold()
        # The last sentence may be cut off; a bounded length makes a model end a loop with any other words. A second day
        # that was as the first but for its end ("planned for Friday") is no loop: little in it stands twice.
        known = sentence if sentence in seen else None
        if known is None and start == len(text):
            loops = before - end > longest and 2 * len(set(again)) <= len(again)
            known = _begun(chain(again, seen), sentence, _BOUNDED if loops else 1.0)
        if known is None:
            end = start
            again.clear()
        else:
            again.append(known)
        seen.add(sentence)
    # Something short is said a second time by people too, also just before the limit.
    if len(text) - end > (longest if 2 * len(set(again)) <= len(again) else LONGEST_ECHO):
        return text[:end].strip()
    rows = _IN_A_ROW.finditer(text) if _has_repetition(text) else ()
    found = next((row for row in rows if len(row[0]) > (longest if _ends_with(text, row) else LONGEST_ECHO)), None)
    return text[: found.end(1)].strip() if found else text


def _begun(seen: Iterable[str], sentence: str, share: float) -> str | None:
    """Return the earlier sentence that begins like this share of a sentence, from its start; None if none does."""
    begun = sentence[: ceil(share * len(sentence))]
    return next((other for other in seen if other.startswith(begun)), None)


def _ends_with(text: str, row: re.Match[str]) -> bool:
    """Whether nothing but the beginning of another copy follows copies in a row."""
    return row[1].startswith(text[row.end() :])


def _has_repetition(text: str) -> bool:
    """Whether a part of the text recurs within reach, as it does in every long loop.

    This prefilter is a hundred times as fast as `_IN_A_ROW`, which tries 120 lengths at every character.
    """
    starts = range(0, len(text), _PART)
    return any(text.find(text[at : at + _PART], at + 1, at + _PART + 120) >= 0 for at in starts)


def _map_reply(reply: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to each text of the reply's JSON object, or to the whole reply if it has none."""
    try:
        found = find_json(reply)
    except ValueError:
        return change(reply)
    result = mapped(found, lambda part: change(part) if isinstance(part, str) else part)
    return reply if result == found else json.dumps(result, ensure_ascii=False)
