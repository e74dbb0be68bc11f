"""Servers gone bad: too much is not taken, what is no answer is asked for again, and nobody waits for ever."""

import asyncio
import gzip
import json
import ssl
import time
import tomllib
import tracemalloc
import zlib
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from packaging.requirements import Requirement

from llm import ModelError, ModelSettings, RefusedError
from llm.build import build_model
from llm.chat_openai import ChatOpenAI
from llm.transport import MOST, SpreadTransport
from nodes.context import Context
from tests.llm.examinee import GOOD, OPINION, put, served, spec
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.serving import serving
from tests.test_architecture import ROOT
from wardround.config import preflight
from wardround.config.preflight import check_servers

PIECE = b"x" * 2**16


def test_an_openai_whose_client_is_of_another_library_than_our_transports_is_not_accepted() -> None:
    assert issubclass(openai.DefaultAsyncHttpxClient, httpx2.AsyncClient)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (declared,) = (line for line in map(Requirement, project["dependencies"]) if line.name == "openai")
    assert "2.54.0" not in declared.specifier  # the last before; its client is httpx's
    assert "3.0.0" in declared.specifier


class BadServer(FakeServer):
    """Answers the first requests with bytes of the test's own, as often as there are any; then as ever."""

    def __init__(self, *replies: tuple[str, bytes], times: int = 1, pause: float = 0.0) -> None:
        super().__init__(answer=lambda request: GOOD)
        self.replies, self.times, self.pause, self.sent = list(replies), times, pause, 0

    async def _reply(self, request: ChatRequest, response: Any) -> None:
        if not self.replies:
            return await super()._reply(request, response)
        await self.send_raw(response, *self.replies.pop(0))
        return None

    async def send_raw(self, response: Any, headers: str, body: bytes) -> None:
        writer = response._writer
        writer.write(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{headers}\r\n\r\n".encode())
        for _ in range(self.times):
            writer.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
            await writer.drain()
            self.sent += len(body)
            await asyncio.sleep(self.pause)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


JSON = "Content-Type: application/json"
NO_ANSWERS = {
    "a page": ("Content-Type: text/html", b"<html><body>Bad gateway</body></html>"),
    "a page that calls itself JSON": (JSON, b"<html><body>Bad gateway</body></html>"),
    "bytes that are no text": (JSON, b'{"choices": [{"message": {"content": "\xff\xfe\x80"}}]}'),
    "nothing": (JSON, b" "),
    "cut JSON": (JSON, b'{"choices": [{"mess'),
    "a list": (JSON, b"[1, 2]"),
    "a word": (JSON, b'"busy"'),
    "a null": (JSON, b"null"),
    "no message": (JSON, b'{"choices": [{"message": null}]}'),
}


@pytest.mark.parametrize("reply", NO_ANSWERS.values(), ids=list(NO_ANSWERS))
async def test_what_is_no_answer_is_asked_for_again(reply: tuple[str, bytes]) -> None:
    with BadServer(reply) as server:
        opinion, call = await put(served(server))
    assert opinion == OPINION and call.attempts == 2


async def test_an_answer_without_an_end_is_not_taken_and_not_asked_for_again() -> None:
    with BadServer((JSON, PIECE), times=20_000) as server:
        with pytest.raises(ModelError, match=r"after 1 request.*larger than 16 MB"):
            await put(served(server))
        assert server.sent < 3 * MOST and len(server.requests) == 1


def completion(content: str, usage: dict[str, int] | None = None, choices: int = 1) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice] * choices, "usage": usage}).encode()


@pytest.mark.parametrize("content", ["{}" * 2_000_000, "```json\n" * 500_000])
async def test_a_reply_longer_than_any_model_writes_is_not_read(content: str) -> None:
    with BadServer((JSON, completion(content))) as server:
        with pytest.raises(ModelError, match=r"after 1 request.*longer than 500,000 characters"):
            await put(served(server))
        assert len(server.requests) == 1


async def test_of_many_choices_one_is_read_and_no_count_of_tokens_is_beyond_what_a_request_can_have() -> None:
    usage = {"prompt_tokens": 10**300, "completion_tokens": -5, "total_tokens": 10**300}
    with BadServer((JSON, completion(json.dumps(GOOD), usage, choices=20_000))) as server:
        began = time.process_time()
        opinion, call = await put(served(server))
        assert time.process_time() - began < 5
    assert (opinion, call.attempts) == (OPINION, 1)
    assert (call.input_tokens, call.output_tokens) == (1_000_000_000, 0)


async def test_a_refusal_of_many_megabytes_is_not_searched_through() -> None:
    class Loud(FakeServer):
        async def _reply(self, request: ChatRequest, response: Any) -> None:
            body = b'{"error": {"message": "' + b"://:" * 1_000_000 + b'"}}'
            head = f"HTTP/1.1 400 Bad Request\r\n{JSON}\r\nContent-Length: {len(body)}\r\n\r\n"
            response._writer.write(head.encode() + body)
            await response._writer.drain()

    with Loud() as server:
        began = time.process_time()
        with pytest.raises(RefusedError, match="refuses the first question in every form"):
            await put(served(server))
        assert time.process_time() - began < 15


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_an_answer_that_unpacks_without_end_is_not_unpacked(encoding: str) -> None:
    bomb = (gzip.compress if encoding == "gzip" else zlib.compress)(bytes(100 * 2**20))
    with BadServer((f"{JSON}\r\nContent-Encoding: {encoding}", bomb)) as server:
        tracemalloc.start()
        with pytest.raises(ModelError, match="larger than 16 MB"):
            await put(served(server))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 6 * MOST


async def test_a_packed_answer_is_read_and_one_that_was_not_asked_for_so_is_refused() -> None:
    message = {"role": "assistant", "content": json.dumps(GOOD)}
    body = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": message}]}).encode()
    with BadServer((f"{JSON}\r\nContent-Encoding: gzip", gzip.compress(body))) as server:
        opinion, call = await put(served(server))
        assert (opinion, call.attempts) == (OPINION, 1)
        assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"
    with BadServer((f"{JSON}\r\nContent-Encoding: br", body)) as server, pytest.raises(ModelError, match="'br'"):
        await put(served(server))


@pytest.mark.slow
async def test_an_answer_that_comes_in_drips_is_given_up_when_its_time_is_over() -> None:
    with BadServer((JSON, b" "), times=1_000, pause=0.05) as server:
        began = time.monotonic()
        with pytest.raises(ModelError, match=r"after 1 request.*TimeoutError"):
            await put(served(server, timeout=0.5, max_attempts=1))
        assert time.monotonic() - began < 10


async def test_a_list_of_models_without_an_end_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "_SECONDS", 0.5)

    class Endless(BadServer):
        async def _route(self, method: str, path: str, headers: Any, body: bytes, response: Any) -> None:
            await self.send_raw(response, JSON, b" ")

    with Endless(times=10_000, pause=0.05) as server:
        began = time.monotonic()
        await check_servers(Context(models={"default": spec(server)}))
        assert 0.5 <= time.monotonic() - began < 30


@pytest.mark.parametrize(("at_once", "least", "most"), [(1, 1, 1), (4, 4, 4), (100, 64, 100)])
async def test_few_requests_keep_few_connections_and_many_are_all_answered(at_once: int, least: int, most: int) -> None:
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        while (await reader.readline()).strip():
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.01)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with httpx2.AsyncClient(transport=SpreadTransport(httpx2.Limits()), timeout=10) as client:
        for _ in range(5):
            replies = await asyncio.gather(*(client.get(url) for _ in range(at_once)))
            assert [reply.text for reply in replies] == ["{}"] * at_once
    server.close()
    assert least <= opened <= most


def test_a_proxy_of_the_environment_is_still_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, given in (("HTTPS_PROXY", "http://127.0.0.1:9"), ("NO_PROXY", ""), ("no_proxy", "")):
        monkeypatch.setenv(name, given)  # building a model adds to the last two
    client = build_model("openai:m@https://example.org/v1", ModelSettings())
    assert isinstance(client, ChatOpenAI)
    proxied = client.root_async_client._client._transport_for_url(httpx2.URL("https://example.org/v1"))
    assert not isinstance(proxied, SpreadTransport)


async def test_a_proxy_that_opens_no_tunnel_without_a_login_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += (await reader.readuntil(b"\r\n\r\n")).startswith(b"CONNECT example.org:443")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    for name, given in (("HTTPS_PROXY", url), ("https_proxy", url), ("NO_PROXY", ""), ("no_proxy", "")):
        monkeypatch.setenv(name, given)  # building a model adds to the last two
    with pytest.raises(RefusedError, match=r"refuses all questions: the proxy .* wants another name and password"):
        await put(ModelSettings(models={"default": "openai:m@https://example.org/v1"}))
    assert asked == 1
    proxy.close()


def _certificate(folder: Path, days: int = 1) -> tuple[str, str]:
    """Write a certificate for 127.0.0.1 that nobody has signed, and its key; returns both paths."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ward")])
    now = datetime.now(UTC)
    since, until = now - timedelta(days=9), now + timedelta(days=days)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, since, until)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = made.add_extension(address, critical=False).sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    encoding = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(signed.public_bytes(encoding))
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
    return str(folder / "cert.pem"), str(folder / "key.pem")


async def test_a_server_without_encryption_at_an_https_address_ends_the_run_at_once() -> None:
    async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1))
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    asked: list[bytes] = []
    plain = await asyncio.start_server(answer_plainly, "127.0.0.1")
    async with plain:
        spec = f"openai:any@https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(RefusedError, match="answers without encryption; try http://"):
            await put(ModelSettings(models={"default": spec}))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("host", "days", "trusted", "why"),
    [
        ("127.0.0.1", 1, False, r"not trusted; SSL_CERT_FILE.*self-signed"),
        ("localhost", 1, True, r"certificate is not valid \(.*Hostname mismatch"),
        ("127.0.0.1", -1, True, r"certificate is not valid \(.*expired"),
    ],
)
async def test_a_certificate_that_is_not_accepted_ends_the_run_at_once_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, days: int, trusted: bool, why: str
) -> None:
    certificate, key = _certificate(tmp_path, days)
    if trusted:
        monkeypatch.setattr("llm.transport.certificates", partial(ssl.create_default_context, cafile=certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listening = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    listening.socket = context.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
    with serving(listening), pytest.raises(RefusedError, match=why) as raised:
        await put(ModelSettings(models={"default": f"openai:any@https://{host}:{listening.server_port}/v1"}))
    assert raised.value.reason == "refused"
