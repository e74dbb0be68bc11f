"""What is taken of a server's answer: a few megabytes at most, decompressed, and from the host that was named."""

import zlib
from collections.abc import AsyncIterator
from operator import attrgetter
from typing import Any

import httpx
import httpx2

from llm.egress import stay_with_host
from llm.errors import OversizeReplyError

MOST = 16 * 2**20  # bytes of one answer; a long one has some thousands
ENCODINGS = {"Accept-Encoding": "gzip, deflate"}  # what can be decompressed piece by piece
# Where integrations keep the HTTP client that they ask with; those of OpenAI's protocol are given ours.
_CLIENTS = {
    "anthropic": "_async_client._client",
    "google_genai": "client._api_client._async_httpx_client",
    "groq": "async_client._client._client",
    "mistralai": "async_client",
    "ollama": "_async_client._client",
}
_OF_OPENAI = "root_async_client._client"


async def held(response: Any, most: int = MOST) -> None:
    """Follow no redirect elsewhere, and let no more than so much be read (a hook of an asynchronous HTTP client)."""
    stay_with_host(response)
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        await response.aclose()
        raise OversizeReplyError(f"the server packs its answer as {encoding!r}, which it was not asked to")
    response.stream = _Bounded(response.stream, most, packed=encoding not in ("identity", ""))


HOOKS: dict[str, list[Any]] = {"response": [held]}


def hold(provider: str, model: Any) -> bool:
    """Hold the HTTP client of an integration to the same; False if it has none that can be held.

    Args:
        provider: whose integration.
        model: its chat model.
    """
    try:
        client = attrgetter(_CLIENTS.get(provider, _OF_OPENAI))(model)
    except AttributeError:
        return False
    if not isinstance(client, httpx.AsyncClient | httpx2.AsyncClient):
        return False
    if provider == "google_genai":  # asks through aiohttp where that is installed, unless it was given a client
        model.client._api_client._http_options.httpx_async_client = client
    client.event_hooks = HOOKS
    client.headers.update(ENCODINGS)
    return True


class _Bounded(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, stream: Any, most: int, *, packed: bool) -> None:
        self._stream = stream
        self._most = most
        self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if packed else None  # finds out gzip or zlib

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for data in self._stream:
            # One byte more than may be, to see that there is more.
            data = self._unpack.decompress(data, self._most - taken + 1) if self._unpack else data
            taken += len(data)
            if taken > self._most:
                raise OversizeReplyError(f"the server's answer is larger than {self._most // 2**20} MB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
