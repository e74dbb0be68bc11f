"""Find text that reads like an instruction in the data of a prompt: case text, patient replies, recalled cases."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from cases.vocabulary import AS_TYPED, data_file
from llm.trace import Call

_FENCE, _FENCE_ENDS = re.compile(r'<data name="([^"]*)">\n'), "\n</data>"  # as written by `prompts.templates.fence`
_AROUND = 60  # characters of context shown on both sides of a match


@dataclass(frozen=True)
class FoundInstruction:
    """Text that reads like an instruction, in what a call gave its model as data."""

    place: str  # the name of the data in the prompt, or its speaker
    words: str  # the match
    text: str  # the match with context


def instructions_in(call: Call) -> list[FoundInstruction]:
    """Return the first such text in each piece of data in a call's messages.

    In a prompt, only text between fences is searched. A conversation for a model trained on dialogues has no fences and
    is searched except for its system message. Wide letters, invisible characters and line ends hide nothing. A match
    does not prove harm, and no match does not prove safety.
    """
    found = []
    for place, data in _data_of(call.messages or (), fenced=bool(call.prompt)):
        text = _in_a_line(data)
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


@lru_cache(maxsize=2048)  # the calls of a case mostly share their data
def _in_a_line(text: str) -> str:
    return " ".join(text.translate(AS_TYPED).split())


@lru_cache(maxsize=2048)
def _first_match(text: str) -> tuple[int, int] | None:
    """Return start and end of the first match of any pattern."""
    lowered = text.casefold()
    found = (pattern.search(text) for words, pattern in _patterns() if any(word in lowered for word in words))
    return min((match.span() for match in found if match), default=None, key=lambda span: span[0])


@cache
def _patterns() -> list[tuple[list[str], re.Pattern[str]]]:
    """Return each pattern with words of which every match contains one, so that most texts need no search."""
    listed = data_file("scoring", "injections")
    return [(one["words"], re.compile(one["pattern"], re.IGNORECASE)) for one in (*listed["en"], *listed["zh"])]
