"""HTTP transport: bounded answers, only from the named host, and spread connection pools."""

import ssl
import zlib
from collections.abc import AsyncIterator
from functools import cache
from operator import attrgetter
from typing import Any

import httpx
import httpx2

from llm.egress import stay_with_host
from llm.errors import OversizeReplyError
from llm.server_quirks import put_right

MOST = 16 * 2**20  # bytes of one answer at most; a long one has some thousands
ENCODINGS = {"Accept-Encoding": "gzip, deflate"}  # encodings that can be decompressed incrementally
# Where integrations keep their HTTP client; those of OpenAI's protocol are given ours.
_CLIENT_PATHS = {
    "anthropic": "_async_client._client",
    "google_genai": "client._api_client._async_httpx_client",
    "groq": "async_client._client._client",
    "mistralai": "async_client",
    "ollama": "_async_client._client",
}
_OPENAI_CLIENT_PATH = "root_async_client._client"
_POOLS, _ROOM = 16, 4  # connection pools, and the requests in one before the next is used


@cache
def certificates() -> ssl.SSLContext:
    """Load the trusted certificates once, as this takes 40 ms of processor time."""
    return httpx2.create_ssl_context()


class SpreadTransport(httpx2.AsyncBaseTransport):
    """Spreads requests over several connection pools, filling one before it uses the next.

    For each request, and again at its end, a pool checks all its idle connections; with 64 in one pool that takes a
    tenth of a call's processor time. Response bodies, which are short, do not count towards a pool's load.
    """

    def __init__(self, limits: httpx2.Limits) -> None:
        self._pools = [httpx2.AsyncHTTPTransport(verify=certificates(), limits=limits) for _ in range(_POOLS)]
        self._waiting = [0] * _POOLS

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response once its headers have arrived."""
        at = min(range(_POOLS), key=lambda at: max(self._waiting[at], _ROOM - 1))  # with room, else least loaded
        self._waiting[at] += 1
        try:
            return await self._pools[at].handle_async_request(request)
        finally:
            self._waiting[at] -= 1

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            await pool.aclose()


async def restrict_response(response: Any, most: int = MOST) -> None:
    """Drop a redirect to another host and bound the size (a response hook of an asynchronous HTTP client)."""
    stay_with_host(response)
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        await response.aclose()
        raise OversizeReplyError(f"the server compressed its answer as {encoding!r}, which was not requested")
    response.stream = _Bounded(response, most, packed=encoding not in ("identity", ""))


HOOKS: dict[str, list[Any]] = {"response": [restrict_response]}


def restrict_client(provider: str, model: Any) -> bool:
    """Set `HOOKS` on the HTTP client of an integration; False if it has no client that would call them."""
    try:
        client = attrgetter(_CLIENT_PATHS.get(provider, _OPENAI_CLIENT_PATH))(model)
    except AttributeError:
        return False
    if not isinstance(client, httpx.AsyncClient | httpx2.AsyncClient):
        return False
    if provider == "google_genai":
        # Its own client sends by others, without hooks; and it uses aiohttp if installed, unless it is given a client.
        library = httpx if isinstance(client, httpx.AsyncClient) else httpx2
        client = library.AsyncClient(verify=certificates(), timeout=client.timeout, follow_redirects=True)
        api = model.client._api_client
        api._async_httpx_client = api._http_options.httpx_async_client = client
    if type(client).send not in (httpx.AsyncClient.send, httpx2.AsyncClient.send):  # those that call hooks
        return False
    client.event_hooks = HOOKS
    client.headers.update(ENCODINGS)
    return True


class _Bounded(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, response: Any, most: int, *, packed: bool) -> None:
        self._response = response
        self._stream = response.stream
        self._most = most
        self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if packed else None  # detects gzip or zlib

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # As one piece: no caller streams, and a completion that arrives as a stream is assembled first.
        body = bytearray()
        async for data in self._stream:
            # One byte more than allowed, to detect more.
            body += self._unpack.decompress(data, self._most - len(body) + 1) if self._unpack else data
            if len(body) > self._most:
                raise OversizeReplyError(f"the server's answer is larger than {self._most // 2**20} MB")
        response = self._response
        is_completion = response.status_code == 200 and response.request.url.path.endswith("/chat/completions")
        if is_completion and (right := put_right(bytes(body))):
            response.status_code, content = right
            response.headers["content-type"] = "application/json"
            yield content
        else:
            yield bytes(body)

    async def aclose(self) -> None:
        await self._stream.aclose()
