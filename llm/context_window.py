"""Shorten prompts that exceed the context: the call's record says what was left out.

First the recalled cases are dropped, the least similar first, then the oldest turns of a dialogue. Material that is
judged, counted or extracted from is never shortened: a judge of half a dialogue would give a wrong grade.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from math import inf
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

RECALLED, TURNS = "recalled_cases", "oldest_turns"  # the kinds that are left out, in this order
RETRIED_AT = 0.75  # the share of the refused prompt's length to retry with
_BYTES_PER_TOKEN = 4  # about four English letters, or more than one Chinese character (three bytes)
_ANSWER_TOKENS = 1024  # tokens kept free for an answer of unknown length


@runtime_checkable
class Sheds(Protocol):
    """A part of a view that can be shortened."""

    sheds: ClassVar[str]

    def shorter(self) -> Self | None:
        """Return the same without one of its items; None if none is left to drop."""


def tokens(text: str) -> int:
    """Estimate the number of tokens of a text, for a model whose tokenizer is not known."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def room(length: int, answer: int | None) -> int:
    """Return the tokens left for a prompt in a context of the given length, beside an answer of ``answer`` tokens."""
    return length - (answer or min(_ANSWER_TOKENS, length // 4))


def fitted(view: Any, size: Callable[[Any], int], most: float) -> tuple[Any, Counter[str]]:
    """Shorten a view until its prompt has at most ``most`` tokens; return it and the counts of what was left out.

    If even the shortest view is too long, that one is returned.
    """
    left_out: Counter[str] = Counter()
    if most == inf or (now := size(view)) <= most:
        return view, left_out
    for kind, shorter in _shortened(view):
        view, before, now = shorter, now, size(shorter)
        left_out[kind] += now < before  # a conversation does not include every part of the view
        if now <= most:
            break
    return view, +left_out


def without_recalled(view: Any) -> tuple[Any, int]:
    """Return a view without the recalled cases of other patients, and their number."""
    count = 0
    for kind, shorter in _shortened(view):
        if kind != RECALLED:
            break
        view, count = shorter, count + 1
    return view, count


def _shortened(view: Any) -> Iterator[tuple[str, Any]]:
    for kind in (RECALLED, TURNS):
        for field in fields(view):
            part = getattr(view, field.name)
            while isinstance(part, Sheds) and part.sheds == kind and (part := part.shorter()) is not None:
                view = replace(view, **{field.name: part})
                yield kind, view
