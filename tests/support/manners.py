"""How servers of others answer, where they do not answer as OpenAI does: a completion, and what becomes of it."""

import json
from collections.abc import Callable
from typing import Any, Literal

Completion = dict[str, Any]
Manner = Literal[
    "reasoning_content",  # the answer stands where thoughts belong, as vLLM's parsers do to models that do not think
    "reasoning",  # the same, as newer vLLM and OpenRouter call it
    "thoughts",  # there is a thought and no answer
    "thinks_aloud",  # the thought stands before the answer
    "counts_in_words",
    "counts_null",
    "no_counts",
    "parts",  # content is a list, as Mistral's thinking models give it
    "no_finish",  # finish_reason is null
    "filtered",  # cut off by a filter of the server
    "no_role",
    "objects",  # the arguments of a tool are an object
    "error_200",  # an error with a 200, as OpenRouter gives it
]


def _message(completion: Completion) -> Completion:
    message: Completion = completion["choices"][0]["message"]
    return message


def _thinks(completion: Completion, key: str) -> None:
    message = _message(completion)
    if message["content"]:
        message[key], message["content"] = message["content"], None


def _only_thinks(completion: Completion) -> None:
    _message(completion).update(content="", tool_calls=None, reasoning_content="Perhaps it is surgery.")


def _aloud(completion: Completion) -> None:
    message = _message(completion)
    if message["content"]:
        message["content"] = f'<think>Perhaps {{"accepted": false}}? No.</think>\n\n{message["content"]}'


def _in_parts(completion: Completion) -> None:
    message = _message(completion)
    if text := message["content"]:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}
        message["content"] = [thought, {"type": "text", "text": text[:9]}, {"text": text[9:]}]


def _with_objects(completion: Completion) -> None:
    for call in _message(completion).get("tool_calls") or ():
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def _in_words(completion: Completion) -> None:
    completion["usage"] = {key: f"{count}" for key, count in completion["usage"].items()}


def _failed(completion: Completion) -> None:
    del completion["choices"]
    completion["error"] = {"message": "Provider returned error", "code": 502}


_MANNERS: dict[Manner, Callable[[Completion], Any]] = {
    "reasoning_content": lambda completion: _thinks(completion, "reasoning_content"),
    "reasoning": lambda completion: _thinks(completion, "reasoning"),
    "thoughts": _only_thinks,
    "thinks_aloud": _aloud,
    "counts_in_words": _in_words,
    "counts_null": lambda completion: completion.update(usage=dict.fromkeys(completion["usage"])),
    "no_counts": lambda completion: completion.pop("usage"),
    "parts": _in_parts,
    "no_finish": lambda completion: completion["choices"][0].update(finish_reason=None),
    "filtered": lambda completion: completion["choices"][0].update(finish_reason="content_filter"),
    "no_role": lambda completion: _message(completion).pop("role"),
    "objects": _with_objects,
    "error_200": _failed,
}


def in_the_manner(manner: str | None, completion: Completion) -> Completion:
    """The completion as a server of that manner gives it."""
    for change in (change for name, change in _MANNERS.items() if name == manner):
        change(completion)
    return completion
