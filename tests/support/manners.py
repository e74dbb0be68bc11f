"""Ways in which other servers deviate from OpenAI's answers, as changes to a completion."""

import json
from collections.abc import Callable
from typing import Any, Literal

Completion = dict[str, Any]
Manner = Literal[
    "reasoning_content",  # the answer is in the reasoning field, as vLLM's parsers do for models without reasoning
    "reasoning",  # the same under the name in newer vLLM and OpenRouter
    "thoughts",  # reasoning without an answer
    "thinks_aloud",  # reasoning before the answer
    "in_channels",  # reasoning and answer in the marks of gpt-oss's template
    "counts_in_words",
    "counts_null",
    "no_counts",
    "thinks_uncounted",  # 100 tokens of a thought stand in the total alone, as from xAI and Gemini
    "parts",  # content is a list, as from Mistral's reasoning models
    "no_finish",  # finish_reason is null
    "filtered",  # cut off by a content filter
    "no_role",
    "objects",  # tool arguments are an object
    "error_200",  # an error with 200, as from OpenRouter
]


def _message(completion: Completion) -> Completion:
    message: Completion = completion["choices"][0]["message"]
    return message


def _as_reasoning(completion: Completion, key: str) -> None:
    message = _message(completion)
    if message["content"]:
        message[key], message["content"] = message["content"], None


def _only_reasoning(completion: Completion) -> None:
    _message(completion).update(content="", tool_calls=None, reasoning_content="Perhaps it is surgery.")


def _reasoning_first(completion: Completion) -> None:
    message = _message(completion)
    if message["content"]:
        message["content"] = f'<think>Perhaps {{"accepted": false}}? No.</think>\n\n{message["content"]}'


def _in_channels(completion: Completion) -> None:
    message = _message(completion)
    if message["content"]:
        thought = '<|channel|>analysis<|message|>Perhaps {"accepted": false}?<|end|>'
        message["content"] = f"{thought}<|start|>assistant<|channel|>final<|message|>{message['content']}<|return|>"


def _in_parts(completion: Completion) -> None:
    message = _message(completion)
    if text := message["content"]:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}
        message["content"] = [thought, {"type": "text", "text": text[:9]}, {"text": text[9:]}]


def _object_arguments(completion: Completion) -> None:
    for call in _message(completion).get("tool_calls") or ():
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def _counts_as_strings(completion: Completion) -> None:
    completion["usage"] = {key: f"{count}" for key, count in completion["usage"].items()}


def _uncounted_thought(completion: Completion) -> None:
    completion["usage"]["total_tokens"] += 100


def _as_error(completion: Completion) -> None:
    del completion["choices"]
    completion["error"] = {"message": "Provider returned error", "code": 502}


_MANNERS: dict[Manner, Callable[[Completion], Any]] = {
    "reasoning_content": lambda completion: _as_reasoning(completion, "reasoning_content"),
    "reasoning": lambda completion: _as_reasoning(completion, "reasoning"),
    "thoughts": _only_reasoning,
    "thinks_aloud": _reasoning_first,
    "in_channels": _in_channels,
    "counts_in_words": _counts_as_strings,
    "counts_null": lambda completion: completion.update(usage=dict.fromkeys(completion["usage"])),
    "thinks_uncounted": _uncounted_thought,
    "no_counts": lambda completion: completion.pop("usage"),
    "parts": _in_parts,
    "no_finish": lambda completion: completion["choices"][0].update(finish_reason=None),
    "filtered": lambda completion: completion["choices"][0].update(finish_reason="content_filter"),
    "no_role": lambda completion: _message(completion).pop("role"),
    "objects": _object_arguments,
    "error_200": _as_error,
}


def in_the_manner(manner: str | None, completion: Completion) -> Completion:
    """Return the completion as such a server would send it."""
    for change in (change for name, change in _MANNERS.items() if name == manner):
        change(completion)
    return completion
