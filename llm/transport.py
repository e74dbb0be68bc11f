"""How much of a server's answer is taken: a few megabytes at most, decompressed, whatever the server sends."""

import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from llm.errors import OversizeReplyError

MOST = 16 * 2**20  # bytes of one answer; a long one has some thousands
ENCODINGS = {"Accept-Encoding": "gzip, deflate"}  # what can be decompressed piece by piece


async def bound(response: Any) -> None:
    """Let no more than so much of a response be read (a hook of an asynchronous HTTP client)."""
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        await response.aclose()
        raise OversizeReplyError(f"the server packs its answer as {encoding!r}, which it was not asked to")
    response.stream = _Bounded(response.stream, packed=encoding not in ("identity", ""))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, *, packed: bool) -> None:
        self._stream = stream
        self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if packed else None  # finds out gzip or zlib

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for data in self._stream:
            # One byte more than may be, to see that there is more.
            data = self._unpack.decompress(data, MOST - taken + 1) if self._unpack else data
            taken += len(data)
            if taken > MOST:
                raise OversizeReplyError(f"the server's answer is larger than {MOST // 2**20} MB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
