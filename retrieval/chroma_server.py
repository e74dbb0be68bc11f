"""Limits on the answers of a Chroma server: their size and time, and no compression.

Chroma's own client has no such limits, sends requests from its constructor, and takes no HTTP client as an argument.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

SECONDS = 60.0  # for one answer
MOST = 2**30  # bytes of one answer; the vectors of 12,000 cases are 100 MB


@contextmanager
def bounded() -> Iterator[None]:
    """Limit every request of a server's client that is created in this context; for one thread at a time."""
    from chromadb.api import fastapi

    class Bounded(fastapi.FastAPI):
        def __init__(self, system: Any) -> None:
            super().__init__(system)
            self._session.timeout = httpx.Timeout(SECONDS, connect=10)
            self._session.headers["Accept-Encoding"] = "identity"
            self._session.event_hooks = {"response": [_bound]}

    original = fastapi.FastAPI
    fastapi.FastAPI = Bounded  # type: ignore[misc]
    try:
        yield
    finally:
        fastapi.FastAPI = original  # type: ignore[misc]


def _bound(response: httpx.Response) -> None:
    if response.is_redirect:
        raise httpx.ReadError("it redirects to another address, which is not followed")
    if (encoding := response.headers.get("content-encoding", "identity")) != "identity":
        raise httpx.DecodingError(f"it compressed its answer as {encoding!r}, which was not requested")
    response.stream = _Bounded(response.stream)


class _Bounded(httpx.SyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        ends, left = time.monotonic() + SECONDS, MOST
        for data in self._stream:
            left -= len(data)
            if left < 0:
                raise httpx.ReadError(f"its answer is larger than {MOST // 2**20} MB")
            if time.monotonic() > ends:
                raise httpx.ReadTimeout(f"its answer takes longer than {SECONDS:.0f} seconds")
            yield data

    def close(self) -> None:
        self._stream.close()
