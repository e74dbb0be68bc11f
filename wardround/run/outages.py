"""Wait for a database that is away: Postgres with the checkpoints, a Chroma server with the memory."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from llm.failed_requests import kinds_of
from retrieval import CaseMemoryError

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds
_LONGEST = 1800.0

T = TypeVar("T")


async def outlasting(work: Callable[[], Awaitable[T]], longest: float = _LONGEST) -> T:
    """Await ``work()``, and repeat it with growing pauses while a database server is away.

    After ``longest`` seconds the server's error is raised.
    """
    since: float | None = None
    while True:
        try:
            done = await work()
        except Exception as error:
            now = time.monotonic()
            if not _is_away(error) or (since is not None and now - since > longest):
                raise
            if since is None:
                _log.warning("a database does not answer (%s); a case waits up to %.0f s for it", error, longest)
                since = now
            await asyncio.sleep(min(_LONGEST_PAUSE, max(_FIRST_PAUSE, (now - since) / 4)))
        else:
            if since is not None:
                _log.warning("the database answers again, after %.0f s", time.monotonic() - since)
            return done


def _is_away(error: BaseException) -> bool:
    """Whether a server could not be reached or is shutting down; an error that it answers with does not count."""
    if isinstance(error, CaseMemoryError):
        return "TransportError" in kinds_of(error.__cause__)
    state = getattr(error, "sqlstate", None)
    postgres = type(error).__module__.startswith("psycopg") and "OperationalError" in kinds_of(error)
    return postgres and (state is None or state[:2] in ("08", "57"))
