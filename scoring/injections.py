"""Instructions where only data should stand: case text, patients' words and recalled cases that address the model."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from cases.vocabulary import data_file
from llm.trace import Call

_FENCE, _FENCE_ENDS = re.compile(r'<data name="([^"]*)">\n'), "\n</data>"  # as `prompts.loading.fence` writes them
_AROUND = 60  # characters shown on both sides of what was found


@dataclass(frozen=True)
class FoundInstruction:
    """Text that reads like an instruction, in what a call gave its model as data."""

    place: str  # what the prompt calls the piece of data, or who said it
    words: str  # what was found
    text: str  # it, with what stands around it


def instructions_in(call: Call) -> list[FoundInstruction]:
    """The first such text of each piece of data in a call's messages.

    The words of our own prompts are not searched: data stands between fences. A conversation that a model was taught
    to go on with has none, and is searched but for its system message. No match proves harm, none proves safety.
    """
    found = []
    for place, text in _data_of(call.messages or (), fenced=bool(call.prompt)):
        if match := _first_match(text):
            start, end = max(0, match[0] - _AROUND), match[1] + _AROUND
            around = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
            found.append(FoundInstruction(place, text[match[0] : match[1]], around))
    return found


def _data_of(messages: Iterable[Mapping[str, Any]], *, fenced: bool) -> Iterable[tuple[str, str]]:
    for message in messages:
        content = message.get("content")
        if not isinstance(content, str):
            continue
        if fenced:
            at = 0
            while (opened := _FENCE.search(content, at)) and (end := content.find(_FENCE_ENDS, opened.end() - 1)) >= 0:
                yield opened[1], content[opened.end() : end]
                at = end + len(_FENCE_ENDS)
        elif message.get("role") != "system":
            yield f"{message.get('role', 'a')} message", content


@lru_cache(maxsize=2048)  # what a case's calls are given is mostly the same text
def _first_match(text: str) -> tuple[int, int] | None:
    """Where the first of all patterns matches, from and to."""
    lowered = text.casefold()
    found = (pattern.search(text) for words, pattern in _patterns() if any(word in lowered for word in words))
    return min((match.span() for match in found if match), default=None, key=lambda span: span[0])


@cache
def _patterns() -> list[tuple[list[str], re.Pattern[str]]]:
    """Each pattern, and words of which every match holds one: texts without are most, and need no search."""
    listed = data_file("scoring", "injections")
    return [(one["words"], re.compile(one["pattern"], re.IGNORECASE)) for one in (*listed["en"], *listed["zh"])]
