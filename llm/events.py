"""Progress events for watchers, sent as things happen.

Events hold names, numbers and reasons, never text of a case, a prompt or an answer, unless an error quotes it.
"""

import contextvars
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llm.scopes import holding

Watcher = Callable[[dict[str, Any]], None]

_watched: contextvars.ContextVar[tuple[tuple[Watcher, ...], dict[str, Any]]] = contextvars.ContextVar(
    "watched", default=((), {})
)


@contextmanager
def watching(*watchers: Watcher) -> Iterator[None]:
    """Send events of the block, and of tasks started in it, to the watchers as well as to those of an outer block.

    Each event is a dictionary with `event`, `time` (seconds since the epoch) and its own facts.
    """
    others, facts = _watched.get()
    with holding(_watched, ((*others, *watchers), facts)):
        yield


@contextmanager
def unwatched() -> Iterator[None]:
    """Send no events from inside the block."""
    with holding(_watched, ((), {})):
        yield


@contextmanager
def telling_of(**facts: Any) -> Iterator[None]:
    """Add facts, such as the case, to all events sent inside the block."""
    watchers, known = _watched.get()
    with holding(_watched, (watchers, {**known, **facts})):
        yield


def tell(event: str, **facts: Any) -> None:
    """Send an event to the watchers, if there are any."""
    watchers, known = _watched.get()
    if watchers:
        message = {"event": event, "time": time.time(), **known, **facts}
        for watcher in watchers:
            watcher(message)
