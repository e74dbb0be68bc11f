"""Instructions where only data should stand: case text, patients' words and recalled cases that address the model."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from cases.vocabulary import data_file
from llm.trace import Call

_FENCED = re.compile(r'<data name="([^"]*)">\n(.*?)\n</data>', re.DOTALL)  # as `prompts.loading.fence` writes it
_AROUND = 60  # characters shown on both sides of what was found


@dataclass(frozen=True)
class FoundInstruction:
    """Text that reads like an instruction, in what a call gave its model as data.

    Attributes:
        place: what the prompt calls the piece of data, or who said it.
        words: what was found.
        text: it, with what stands around it.
    """

    place: str
    words: str
    text: str


def instructions_in(call: Call) -> list[FoundInstruction]:
    """The first such text of each piece of data in a call's messages.

    The words of our own prompts are not searched: data stands between fences. A conversation that a model was taught
    to go on with has none, and is searched but for its system message. No match proves harm, none proves safety.
    """
    found = []
    for place, text in _data_of(call.messages or (), fenced=bool(call.prompt)):
        if match := _pattern().search(text):
            start, end = max(0, match.start() - _AROUND), match.end() + _AROUND
            around = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
            found.append(FoundInstruction(place, match[0], around))
    return found


def _data_of(messages: Iterable[Mapping[str, Any]], *, fenced: bool) -> Iterable[tuple[str, str]]:
    for message in messages:
        content = message.get("content")
        if not isinstance(content, str):
            continue
        if fenced:
            yield from _FENCED.findall(content)
        elif message.get("role") != "system":
            yield f"{message.get('role', 'a')} message", content


@cache
def _pattern() -> re.Pattern[str]:
    listed = data_file("scoring", "injections")
    return re.compile("|".join(f"(?:{one})" for patterns in listed.values() for one in patterns), re.IGNORECASE)
