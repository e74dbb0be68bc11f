"""What goes on, told as it happens to whoever watches.

Names, numbers and reasons are told; no word of a case, a prompt or an answer, unless an error quotes it.
"""

import contextvars
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Watcher = Callable[[dict[str, Any]], None]

_watched: contextvars.ContextVar[tuple[tuple[Watcher, ...], dict[str, Any]]] = contextvars.ContextVar(
    "watched", default=((), {})
)


@contextmanager
def watching(*watchers: Watcher) -> Iterator[None]:
    """Tell the watchers what goes on inside the block (also in the tasks that it starts), beside those of an outer one.

    Each event is a dictionary with `event`, `time` (seconds since the epoch) and its own facts.
    """
    others, facts = _watched.get()
    token = _watched.set(((*others, *watchers), facts))
    try:
        yield
    finally:
        _watched.reset(token)


@contextmanager
def unwatched() -> Iterator[None]:
    """Tell nobody what goes on inside the block."""
    token = _watched.set(((), {}))
    try:
        yield
    finally:
        _watched.reset(token)


@contextmanager
def telling_of(**facts: Any) -> Iterator[None]:
    """Add facts to all that is told inside the block, such as the case that it is about."""
    watchers, known = _watched.get()
    token = _watched.set((watchers, {**known, **facts}))
    try:
        yield
    finally:
        _watched.reset(token)


def tell(event: str, **facts: Any) -> None:
    """Tell an event; nothing happens where nobody watches."""
    watchers, known = _watched.get()
    if watchers:
        told = {"event": event, "time": time.time(), **known, **facts}
        for watcher in watchers:
            watcher(told)
