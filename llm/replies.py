"""Reading what a chat model sent back."""

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)

# As models mark their thoughts, where no server takes these out.
_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning)>|\[THINK\]", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)


def text_of(message: AIMessage) -> str:
    """The answer as text: the arguments of the tool call where there is one, else the content or the refusal."""
    if message.tool_calls:
        return whole_text(json.dumps(message.tool_calls[0]["args"], ensure_ascii=False))
    if message.invalid_tool_calls:
        return whole_text(message.invalid_tool_calls[0]["args"] or "")
    return whole_text(message.text or str(message.additional_kwargs.get("refusal") or ""))


def whole_text(text: str) -> str:
    """Text without half characters, for which UTF-8 has no bytes: two that belong together are joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole(value: Any) -> Any:
    """What was read of JSON, all of its text whole."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole(key): whole(inner) for key, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list | tuple) else value


def answer_in(text: str) -> str:
    """A reply without what was thought aloud before it; nothing, if the thought has no end."""
    said = _THOUGHT_ENDS.split(text)[-1].strip()
    return "" if _THOUGHT.match(said) else said


def find_json(text: str) -> Any:
    """The JSON object in a reply: bare, fenced or surrounded by prose, after any thinking aloud.

    A broken object is never completed, and of two different ones none is chosen: a cut answer is not an answer.

    Raises:
        ValueError: there is no complete JSON object, or more than one.
    """
    if text.lstrip().startswith("{"):
        parts = [text]
    else:
        answer = answer_in(text)
        if not answer and text.strip():
            raise ValueError("the reply is a thought without an answer")
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
        try:  # not strictly: llama.cpp's grammar lets a text hold line ends as they are
            value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
            value = whole(value)
        except RecursionError:
            raise ValueError("the JSON object is nested too deeply") from None
        yield value
