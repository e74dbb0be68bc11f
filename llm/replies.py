"""Reading what a chat model sent back."""

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)


def text_of(message: AIMessage) -> str:
    """The answer as text: the arguments of the tool call where there is one, else the content or the refusal."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    if message.invalid_tool_calls:
        return message.invalid_tool_calls[0]["args"] or ""
    return message.text or str(message.additional_kwargs.get("refusal") or "")


def find_json(text: str) -> Any:
    """The JSON object in a reply: bare, fenced or surrounded by prose, after any thinking aloud.

    A broken object is never completed, and of two different ones none is chosen: a cut answer is not an answer.

    Raises:
        ValueError: there is no complete JSON object, or more than one.
    """
    if text.lstrip().startswith("{"):
        parts = [text]
    else:
        answer = text.rpartition("</think>")[2]
        parts = _FENCE.findall(answer) or [answer]
    found = [value for part in parts for value in _objects(part)]
    if not found:
        raise ValueError(f"the reply holds no JSON object: {text[:200]!r}")
    if any(value != found[0] for value in found[1:]):
        raise ValueError("the reply holds more than one JSON object")
    return found[0]


def _objects(text: str) -> Iterator[Any]:
    end = 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except RecursionError:
            raise ValueError("the JSON object is nested too deeply") from None
        yield value
