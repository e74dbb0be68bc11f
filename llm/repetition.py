"""Replies that say nothing: a small model that goes round in circles, or says back the words of form and prompt."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from cases.text.sentences import pieces
from llm.replies import find_json

LONGEST_ECHO = 160  # characters at the end of a text that may say nothing new, as a summary does
_IN_A_ROW = re.compile(r"(.{1,120}?)\1{5,}", re.DOTALL)  # the same six times and more, whatever it is
_PART = 20  # characters; each row longer than an echo holds such a part of the text whole, and its next copy
_KEYWORDS = ("additionalProperties", "minItems", "minLength", "uniqueItems")  # words of no language
_TYPES = ("string", "array", "object", "integer", "number", "boolean", "null", "properties", "required", "items")
# What our prompts set material and schemas apart with, whole or begun.
_FENCES = re.compile(r"</?data\b(?: ?name=)?(?: ?\"[^\"]*\"?)?>?|```\w*", re.IGNORECASE)
_BRACKETS = re.compile(r"[\s\[\]{}\",:]+")  # what is left of a form, and says nothing
_MATERIAL = re.compile(
    r"<data [^>]*>.*?</data>|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL
)  # and what is to be said word for word
_SENTENCE = 6  # words, or twice as many Chinese characters, of which a sentence has to have
_RUN = (12, 24)  # words, or Chinese characters, that nobody says in the same order by chance
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")
_MARK = re.compile(r"^\W*(?:\d+\W+)?")  # of a list


class LoopError(ValueError):
    """A reply that says the same over and over."""


class EchoError(ValueError):
    """A reply that repeats what the form or the prompt says instead of answering."""


def without_loops(reply: str) -> str:
    """A reply up to where it goes on to say only what it has said; each text for itself, if it is a JSON object."""
    return _changed(reply, _cut)


def without_fences(reply: str) -> str:
    """A reply without the fences of our prompts, and bare brackets, in its texts; a form that breaks off stays."""
    return _changed(reply, _unfenced)


def names_in(schema: Mapping[str, Any], headings: Iterable[str]) -> frozenset[str]:
    """What a form calls its parts, and a prompt its material: no terms of a closed list are among them."""
    names, terms = {*(_TYPES if schema else ()), *headings}, set[str]()
    for node in _nodes(schema):
        names.update(*(node[key] for key in ("properties", "$defs") if isinstance(node.get(key), dict)))
        if isinstance(listed := node.get("enum"), list):
            terms.update(map(str, listed))
    return frozenset({_bare(name) for name in names} - {_bare(term) for term in terms})


def without_names(reply: str, names: Set[str]) -> str:
    """A reply with nothing in the place of each text that is but a name of its form or of its material."""
    return _changed(reply, lambda text: "" if _bare(text) in names else text)


def directions_in(prompt: str) -> set[str]:
    """The sentences of a prompt that tell what is to be done: all but its material and what it quotes."""
    return set(_sentences(_MATERIAL.sub("\n", prompt)))


def says_directions(text: str, directions: Set[str]) -> bool:
    """Whether somebody who is to speak says a sentence of what they were told to do."""
    return not directions.isdisjoint(_sentences(text))


def copies(text: str, prompt: str, less: str) -> bool:
    """Whether somebody says a run of words that stands in a prompt and not in less of it."""
    return bool((_runs(text) & _runs(prompt)) - _runs(less))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    run = _RUN[any("\u4e00" <= word <= "\u9fff" for word in words)]
    return {tuple(words[start : start + run]) for start in range(len(words) - run + 1)}


def _unfenced(text: str) -> str:
    bare = _FENCES.sub("", text).strip() if _FENCES.search(text) else text
    return "" if _BRACKETS.fullmatch(bare) else text if "{" in text else bare


def _sentences(text: str) -> Iterator[str]:
    for piece in pieces(text):
        words = _WORD.findall(piece.casefold())
        if sum(0.5 if "\u4e00" <= word <= "\u9fff" else 1 for word in words) >= _SENTENCE:
            yield " ".join(words)


def echoes(reply: str, schema: Mapping[str, Any]) -> bool:
    """Whether a reply holds a description of the schema, or one of its keywords, as one of its texts."""
    try:
        texts = set(texts_in(find_json(reply)))
    except ValueError:
        return False
    return not texts.isdisjoint({*_descriptions(schema), *_KEYWORDS})


def undescribed(schema: Any) -> Any:
    """A schema without its descriptions; a property that bears the name stays."""
    if isinstance(schema, list):
        return [undescribed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: undescribed(part) for key, part in schema.items() if key != "description" or not isinstance(part, str)}


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _cut(text: str) -> str:
    if len(text) <= LONGEST_ECHO:
        return text
    said: set[str] = set()
    end = start = 0
    for piece in pieces(text):
        start += len(piece)
        sentence = _MARK.sub("", piece).strip().casefold()
        # The last one may be cut off.
        if sentence not in said and not (start == len(text) and any(other.startswith(sentence) for other in said)):
            end = start
        said.add(sentence)
    if len(text) - end > LONGEST_ECHO:
        return text[:end].strip()
    found = _IN_A_ROW.search(text) if _comes_again(text) else None
    return text[: found.end(1)].strip() if found and len(found[0]) > LONGEST_ECHO else text


def _comes_again(text: str) -> bool:
    """Whether a part of a text comes again within reach, as in every long row of the same one does.

    The pattern of such rows tries 120 lengths at every sign, a hundred times as long as this.
    """
    starts = range(0, len(text), _PART)
    return any(text.find(text[at : at + _PART], at + 1, at + _PART + 120) >= 0 for at in starts)


def _changed(reply: str, change: Callable[[str], str]) -> str:
    """A reply with each text of its object changed, or all of it if it has none."""
    try:
        found = find_json(reply)
    except ValueError:
        return change(reply)
    changed = _each_text(found, change)
    return reply if changed == found else json.dumps(changed, ensure_ascii=False)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(part, change) for key, part in value.items()}
    return [_each_text(part, change) for part in value] if isinstance(value, list) else value


def texts_in(value: Any) -> Iterator[str]:
    """Every text of nested lists and mappings, in their order."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def _descriptions(schema: Any) -> Iterator[str]:
    for node in _nodes(schema):
        if isinstance(text := node.get("description"), str):
            yield text.strip()


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from _nodes(part)
