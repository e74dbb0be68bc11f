"""Read the replies of chat models: text, JSON, and reasoning before the answer."""

import json
import re
from collections.abc import Callable, Iterator, Set
from typing import Any, Never
from unicodedata import normalize

from langchain_core.messages import AIMessage

from cases.text.sentences import pieces

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of these fields; ValueError if one occurs twice with different values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"{key} occurs twice in one JSON object; give each field once")
    return found


def _no_number(name: str) -> Never:
    """Refuse NaN and Infinity, which Python reads as numbers."""
    raise ValueError(f"{name} is not a number; give one")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unambiguous, parse_constant=_no_number)
# Where an object may begin; prose contains braces too.
_OBJECT_START = re.compile(r"\{(?=\s*(?:[\"“”'}/]|\w+\s*:|\Z))")
# Deviations from JSON outside strings (the first alternative): other quotes, bare names, trailing commas, comments,
# other spaces.
_SPELLING = re.compile(
    r"(\"(?:\\.|[^\"\\])*\")|[“”]([^“”]*)[“”](?=\s*[:：,，\]}])|'((?:\\.|[^'\\])*)'(?=\s*[:,\]}])"
    r"|\b([A-Za-z_]\w*)(?=\s*:)|[,，](?=\s*[\]}])|//[^\n]*|\b(?:True|False|None)\b|[：，\u00a0\u2000-\u200b\u202f\u3000\ufeff]",
    re.DOTALL,
)
# A quote where JSON can have none: between words, or beside the quote that begins or ends its text.
_WORD = r"[^\s{}\[\],:\"\\/]"
_QUOTE_IN_TEXT = re.compile(
    rf'(?:(?<={_WORD})|(?<={_WORD} ))(?<!"[，、：])"(?= ?{_WORD})(?![，、：] ?")'
    rf'|(?<=")"(?={_WORD})|(?<={_WORD})"(?="\s*[,\]}}])'
)
_SPELT = {"True": "true", "False": "false", "None": "null", "：": ":", "，": ","}

# Marks of a model's reasoning, for servers that do not remove it: DeepSeek and Qwen, Seed, Mistral, Kimi, Cohere,
# gpt-oss, Gemma.
_THOUGHT = re.compile(
    r"<(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[THINK\]|◁think▷|<\|START_THINKING\|>|"
    r"<\|channel\|>(?:analysis|commentary)|<\|channel>thought",
    re.IGNORECASE,
)
_THOUGHT_END = re.compile(
    r"</(?:\w+:)?(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|"
    r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|<channel\|>",
    re.IGNORECASE,
)
# Marks of a chat template that a server left in: where the turn ends, and any other.
_TURN_END = re.compile(r"<\|(?:im_end|eot_id|end|return|endoftext|end_of_text)\|>|<end_of_turn>|</s>")
_MARK = re.compile(r"<\|(?:im_)?start\|>assistant|<start_of_turn>model|<\|\w+\|>")
_CALLS = ({"name", "arguments"}, {"name", "parameters"})  # the keys of a tool's call, written as text
_STATE = {"status", "success", "code", "ok"}  # beside an answer, as in those of a web service
# What marks an item of a list that was written as in a text: "1. Gout", "2) Asthma", "①痛风", "- Gout".
_LIST_MARK = re.compile(r"\s*(?:[-*•]\s+|(?:(?P<circled>[①-⑳])|[(（]?(?P<number>\d+)(?:[)）、]|[.．](?!\d)))\s*)")

_ENDED = re.compile(r"[.!?。！？…][\"'”’)）」\s]*$")
LONGEST_TEXT = 500_000  # characters of an answer with its reasoning; longer than any model's longest output


def text_of(message: AIMessage) -> str:
    """Return the answer as text: the arguments of tool calls if there are any, else the content or the refusal."""
    if message.tool_calls:
        return whole_text("\n".join(json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls))
    if message.invalid_tool_calls:
        return whole_text(message.invalid_tool_calls[0]["args"] or "")
    return whole_text(message.text or str(message.additional_kwargs.get("refusal") or ""))


def whole_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode; pairs are joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_ended(words: str) -> bool:
    """Whether words end with a whole sentence."""
    return _ENDED.search(words) is not None


def in_whole_sentences(words: str) -> str:
    """Return words that broke off up to their last whole sentence, or with an ellipsis if there is none."""
    *whole_ones, _ = pieces(words)
    return "".join(whole_ones).rstrip() or f"{words.rstrip()}…"


def whole(value: Any) -> Any:
    """Apply `whole_text` to all strings of a JSON value."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole(key): whole(inner) for key, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list | tuple) else value


def answer_in(text: str) -> str:
    """Return a reply without the reasoning before its answer and its template's marks; empty if it only reasons."""
    answer = _THOUGHT_END.split(text)[-1].strip()
    if _THOUGHT.match(answer):
        return ""
    return _MARK.sub("", _TURN_END.split(answer)[0]).strip()


def find_json(text: str) -> Any:
    """Return the JSON object in a reply: bare, fenced or surrounded by prose, after any reasoning.

    A broken object is never completed, and two different objects are an error: a cut-off answer is not an answer.

    Raises:
        ValueError: there is no complete JSON object, or there are several different ones.
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
        raise ValueError(f"the reply contains no JSON object: {text[:200]!r}" if text.strip() else "the reply is empty")
    if any(value != found[0] for value in found[1:]):
        raise ValueError("the reply contains more than one JSON object")
    return found[0]


def each_value(value: Any) -> Iterator[Any]:
    """Yield a JSON value and all values inside it, in order."""
    yield value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from each_value(part)


def texts_in(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, except the names of fields, in order."""
    return (node for node in each_value(value) if isinstance(node, str))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a JSON value with ``change`` applied to all values inside it, and last to itself; keys stay."""
    if isinstance(value, dict):
        value = {key: mapped(part, change) for key, part in value.items()}
    elif isinstance(value, list):
        value = [mapped(part, change) for part in value]
    return change(value)


def without_list_marks(value: Any) -> Any:
    """Return a list without blank strings and, if all its items are texts that have them, numbers or bullets."""
    if not isinstance(value, list):
        return value
    items = [part for part in value if not (isinstance(part, str) and not part.strip())]
    marks = [_mark_of(item, place) for place, item in enumerate(items, start=1)]
    return [mark.string[mark.end() :] for mark in marks if mark] if all(marks) else items


def _mark_of(item: Any, place: int) -> re.Match[str] | None:
    found = _LIST_MARK.match(item) if isinstance(item, str) else None
    number = found and (found["circled"] or found["number"])
    return found if found and (number is None or normalize("NFKC", number) == str(place)) else None


def folded(words: str) -> str:
    """Return words, or a key, without case, spaces and punctuation: ``Sub-Departments`` is ``sub_departments``."""
    return "".join(filter(str.isalnum, words.casefold()))


def unwrapped(value: Any, names: Set[str]) -> Any:
    """Return the object with one of the named fields inside objects of one other key or lists of one item, if any.

    So too inside the call of a tool that a model wrote as text, its name and its arguments, and beside the state that a
    web service gives with its answers. A field's name may be spelled in another way.
    """
    own = set(map(folded, names))
    inner = value
    while isinstance(inner, dict | list) and not _has_one(inner, own):
        parts = inner
        if isinstance(inner, dict):
            beside = {"name"} if inner.keys() in _CALLS else _STATE
            parts = [part for key, part in inner.items() if key not in beside or len(inner) == 1]
        if len(parts) != 1:
            break
        (inner,) = parts
    return inner if _has_one(inner, own) else value


def _has_one(value: Any, names: Set[str]) -> bool:
    return isinstance(value, dict) and not names.isdisjoint(map(folded, value))


def _objects(text: str) -> Iterator[Any]:
    end, respelt = 0, False
    while begins := _OBJECT_START.search(text, end):
        try:  # not strict: llama.cpp's grammar allows raw line feeds in strings
            try:
                value, end = _DECODER.raw_decode(text, begins.start())
            except json.JSONDecodeError:
                if respelt:  # respelling the rest for every object would take quadratic time
                    raise
                given, end, respelt = text[begins.start() :], 0, True
                try:
                    text = _SPELLING.sub(_spelt, given)
                    value, end = _DECODER.raw_decode(text)
                except json.JSONDecodeError:
                    text = _SPELLING.sub(_spelt, _QUOTE_IN_TEXT.sub(r"\"", given))
                    value, end = _DECODER.raw_decode(text)
            value = whole(value)
        except RecursionError:
            raise ValueError("the JSON object is nested too deeply") from None
        yield value


def _spelt(found: re.Match[str]) -> str:
    text, *others = found.groups()
    if text:
        return text.replace("\\'", "'")
    other = next((other for other in others if other is not None), None)
    return _SPELT.get(found[0], "") if other is None else json.dumps(other, ensure_ascii=False)
