"""Normalise the answers of OpenAI-compatible servers to what OpenAI's client reads.

Handled are: unrequested streams, comments that keep a connection alive, content in parts, reasoning in a separate
field, token counts as strings or under other names, answers and tool arguments as objects or encoded twice, functions
from before tools, errors with status 200, reasons to end with more words than one, and a missing role, choice or
content type.
docs/models.md lists the deviations by server.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from textwrap import shorten
from typing import Any

from llm.replies import LONGEST_TEXT, find_json

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# Names of counts by Anthropic, OpenAI's newer interface and Gemini, also in camelCase.
_OTHER_NAMES = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "input_tokens_details": "prompt_tokens_details",
    "output_tokens_details": "completion_tokens_details",
    "prompt_token_count": "prompt_tokens",
    "candidates_token_count": "completion_tokens",
    "total_token_count": "total_tokens",
}
_REASONING = ("reasoning_content", "reasoning")
# MiniMax's own error codes, which come with status 200, and the statuses that mean the same; others are a 500.
_MINIMAX = {1002: 429, 1004: 401, 1008: 402, 1039: 429, 2049: 401, 2056: 429}
# Codes and types of errors in words, as in a stream, which begins with a 200; others are a 500.
_IN_WORDS = {
    "authentication_error": 401,
    "content_filter": 400,
    "context_length_exceeded": 400,
    "data_inspection_failed": 400,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "invalid_request_error": 400,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
}
_STREAM_PREFIXES = ("data:", "event:", "id:", "retry:")
_COMMENTS = re.compile(r"\A(?:\s*:[^\r\n]*[\r\n]++)+")  # before a stream, or before plain JSON
_LINE_END = re.compile(r"\r\n|\n|\r")  # of a stream; splitlines() would also split at other characters inside text
_FAILED = 500  # for an error that comes with status 200 and names no other
_QUOTED = 200  # characters of an answer that is none
_NO_CHOICE = 424  # for an answer without a whole choice: its generation failed


def put_right(body: bytes) -> tuple[int, bytes] | None:
    """Return the status and JSON of a completion; None if the body is not one, so that the client handles it.

    A stream that breaks off is not a completion: half a sentence is no answer.
    """
    try:
        text = _COMMENTS.sub("", body.decode("utf-8-sig"))
        found = _assembled(_events(text)) if text.lstrip().startswith(_STREAM_PREFIXES) else json.loads(text)
        if not isinstance(found, dict):
            return None
        choices = [*filter(_has_answer, found.get("choices") or ())]
        usage = counted(next(filter(None, (each.get("usage") for each in (found, *choices))), None))  # Moonshot: in it
        errors = [found.get("error"), _of_minimax(found.get("base_resp"))]
        errors += [choice.get("error") or _broken_off(choice) for choice in choices]
        if error := next(filter(None, errors), None):
            return _status(error), json.dumps({"error": error, "usage": usage}).encode()
        if not choices:
            error = {"message": f"the server's answer has no choices: {shorten(text[:1_000], _QUOTED)}"}
            return _NO_CHOICE, json.dumps({"error": error, "usage": usage}).encode()
        found["choices"] = choices[:1]  # one is asked for and read
        for choice in found["choices"]:
            choice["message"] = choice.get("message") or {"content": choice["text"]}
            if isinstance(ended := choice.get("finish_reason"), str):
                choice["finish_reason"] = ended.partition(":")[0]  # Gemini: "content_filter: RECITATION"
            _mend(choice["message"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return 200, json.dumps({**found, "usage": usage}).encode()


def _has_answer(choice: dict[str, Any]) -> bool:
    return bool(choice.get("message") or "text" in choice or choice.get("error") or _broken_off(choice))


def _of_minimax(state: Any) -> dict[str, Any] | None:
    """Return the error in MiniMax's account of a request; None if there is none."""
    code = _count(state.get("status_code")) if isinstance(state, dict) else None
    return {"code": _MINIMAX.get(code, _FAILED), "message": str(state.get("status_msg"))} if code else None


def _broken_off(choice: dict[str, Any]) -> dict[str, Any] | None:
    """Return the error of a choice that ended with one; OpenRouter does not always name it."""
    is_broken = choice.get("finish_reason") == "error"
    return {"code": _NO_CHOICE, "message": "the server broke off its answer with an error"} if is_broken else None


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream; ValueError if the stream breaks off."""
    ended = False
    for data in (line[5:].strip() for line in _LINE_END.split(text) if line.startswith("data:")):
        if data == "[DONE]":
            return
        if data:
            event = json.loads(data)
            ended = ended or any(choice.get("finish_reason") for choice in event.get("choices") or ())
            yield event
    if not ended:
        raise ValueError("the stream broke off")


def _assembled(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Assemble a completion from the events of a stream."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        whole |= {key: value for key, value in event.items() if key != "choices" and value is not None}
        for piece in event.get("choices") or ():
            new = {"index": piece.get("index", 0), "message": {"calls": {}}, "finish_reason": None}
            choice = choices.setdefault(piece.get("index", 0), new)
            choice["finish_reason"] = piece.get("finish_reason") or choice["finish_reason"]
            choice |= {"usage": piece["usage"]} if piece.get("usage") else {}
            _add(choice["message"], piece.get("delta") or piece.get("message") or {})
    for choice in choices.values():
        choice["message"]["tool_calls"] = list(choice["message"].pop("calls").values())
    return {**whole, "object": "chat.completion", "choices": list(choices.values())}


def _add(message: dict[str, Any], piece: dict[str, Any]) -> None:
    for key in ("content", "refusal", *_REASONING):
        if more := _text(piece.get(key)):
            message[key] = message.get(key, "") + more
    for call in piece.get("tool_calls") or ():
        calls = message["calls"]
        new = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        made, given = calls.setdefault(call.get("index", len(calls)), new), call.get("function") or {}
        made["id"] = call.get("id") or made["id"]
        made["function"]["name"] = given.get("name") or made["function"]["name"]
        made["function"]["arguments"] += _arguments(given.get("arguments"))


def _mend(message: dict[str, Any]) -> None:
    message.setdefault("role", "assistant")
    content = _content(message.get("content"))
    reasoning = next((text for key in _REASONING if (text := _text(message.get(key)).strip())), "")
    if not message.get("tool_calls") and (function := message.pop("function_call", None)):
        message["tool_calls"] = [{"id": "", "type": "function", "function": function}]  # as before tools
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = given = _arguments(call["function"].get("arguments"))
        if _is_ambiguous(given):  # LangChain would take the last value of each field
            content, message["tool_calls"] = given, []
            break
    if reasoning and not (content.strip() or message.get("tool_calls") or message.get("refusal")):
        # Some servers file grammar-bound output under reasoning; an object there is the answer.
        content = reasoning if _is_object(reasoning) else f"<think>{reasoning}"
    message["content"] = content


def _is_object(text: str) -> bool:
    if len(text) > LONGEST_TEXT:
        return False
    try:
        return text.startswith(("{", "```")) and text.endswith(("}", "```")) and isinstance(find_json(text), dict)
    except ValueError:
        return False


def _is_ambiguous(arguments: str) -> bool:
    """Whether what JSON readers take for one object cannot be read as one answer: a field twice, or no number."""
    if len(arguments) > LONGEST_TEXT:
        return False
    try:
        json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return False
    try:
        find_json(arguments)
    except ValueError:
        return True
    return False


def _content(content: Any) -> str:
    """Return the text of a message; an answer that came as an object, or encoded twice, as it is meant."""
    if isinstance(content, dict) and "type" not in content and content.keys() != {"text"}:
        return json.dumps(content)
    text = _text(content)
    if text.startswith('"{') and text.endswith('}"'):
        with suppress(ValueError):
            return str(json.loads(text))
    return text


def _text(content: Any) -> str:
    """Return the text of content: a string, or a list of parts some of which are text."""
    if isinstance(content, list):
        return "".join(map(_text, content))
    if isinstance(content, dict):
        return _text(content.get("text")) if content.get("type") in (None, "text", "output_text") else ""
    return content if isinstance(content, str) else ""


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given) if given else ""


def counted(usage: Any) -> dict[str, Any] | None:
    """Return a server's token counts under OpenAI's names and as integers, without invalid ones."""
    if not isinstance(usage, dict):
        return None
    given, usage = usage, {}
    for name, value in given.items():
        name = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
        name = _OTHER_NAMES.get(name, name)
        usage[name] = usage.get(name) or value
    others = {key: value for key, value in usage.items() if key not in _COUNTS and isinstance(value, dict)}
    counts = {key: count for key in _COUNTS if (count := _count(usage.get(key))) is not None}
    if counts.get("prompt_tokens") and "total_tokens" in counts:
        # xAI and Gemini count (and bill) the tokens of a thought in the total alone. xAI names them, Gemini nothing at
        # all; other totals also hold what was read from a cache or of pictures.
        written = counts.get("completion_tokens", 0)
        beyond = counts["total_tokens"] - counts["prompt_tokens"] - written
        thought = _count(others.get("completion_tokens_details", {}).get("reasoning_tokens"))
        names_others = any(usage[key] for key in usage.keys() - set(_COUNTS))
        if beyond > 0 and (beyond == thought or not (written and names_others)):
            counts["completion_tokens"] = written + beyond
    return {**others, **counts}


def _count(value: Any) -> int | None:
    try:
        return int(float(value))
    except (ValueError, TypeError, OverflowError):
        return None


def _status(error: Any) -> int:
    given = [error.get(name) for name in ("code", "status", "type")] if isinstance(error, dict) else []
    codes = [_IN_WORDS.get(str(each)) or _count(each) for each in given]
    return next((code for code in codes if code is not None and 400 <= code < 600), _FAILED)
