"""Prompts that do not fit: what a role can do without is left out, by one rule, and told in the call's record.

First the similar cases of other patients, the least similar before the others, then the oldest turns of a dialogue.
What is judged, counted or extracted is never shortened: a judge of half a dialogue would give a wrong grade.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from math import inf
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

RECALLED, TURNS = "recalled_cases", "oldest_turns"  # what is left out, in this order
RETRIED_AT = 0.75  # the share of a prompt that a server has refused with which it is asked again
_BYTES = 4  # a token: of English some four letters, of Chinese more than one character, which is three bytes
_ANSWER = 1024  # tokens that are kept free for an answer of unknown length, of a long context


@runtime_checkable
class Sheds(Protocol):
    """A part of a view that can do with less."""

    sheds: ClassVar[str]

    def shorter(self) -> Self | None:
        """The same without one of what it sheds; None if there is none."""


def tokens(text: str) -> int:
    """About how many tokens a text is, of a model whose tokenizer is not known."""
    return -(-len(text.encode()) // _BYTES)


def room(length: int, answer: int | None) -> int:
    """Tokens that a prompt may have in a context of so many, beside an answer."""
    return length - (answer or min(_ANSWER, length // 4))


def fitted(view: Any, size: Callable[[Any], int], most: float) -> tuple[Any, Counter[str]]:
    """A view whose prompt has at most so many tokens, or the shortest that there is; and what was left out of it."""
    left_out: Counter[str] = Counter()
    if most == inf or (now := size(view)) <= most:
        return view, left_out
    for kind, less in _ever_shorter(view):
        view, before, now = less, now, size(less)
        left_out[kind] += now < before  # a conversation does not show all that is seen
        if now <= most:
            break
    return view, +left_out


def without_recalled(view: Any) -> tuple[Any, int]:
    """A view without the similar cases of other patients, and how many these were."""
    count = 0
    for kind, less in _ever_shorter(view):
        if kind != RECALLED:
            break
        view, count = less, count + 1
    return view, count


def _ever_shorter(view: Any) -> Iterator[tuple[str, Any]]:
    for kind in (RECALLED, TURNS):
        for field in fields(view):
            part = getattr(view, field.name)
            while isinstance(part, Sheds) and part.sheds == kind and (part := part.shorter()) is not None:
                view = replace(view, **{field.name: part})
                yield kind, view
