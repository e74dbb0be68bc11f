"""The integrations of other providers than OpenAI's protocol: their clients are held to the same."""

import asyncio
import gzip
import time
from typing import Any

import httpx
import httpx2
import pytest

from llm import AskError, ModelError, ModelSettings
from llm import build as module
from llm.transport import restrict_client
from tests.llm.examinee import put
from tests.llm.test_egress import Redirecting
from tests.llm.test_transport import JSON, PIECE, BadServer
from tests.support.fake_server import FakeServer

PACKAGES = {"anthropic": "langchain_anthropic", "google_genai": "langchain_google_genai", "ollama": "langchain_ollama"}


@pytest.fixture(params=PACKAGES)
def provider(request: pytest.FixtureRequest) -> str:
    """A provider whose integration is installed."""
    pytest.importorskip(PACKAGES[request.param])
    return str(request.param)


class Anywhere(BadServer):
    """Answers every path with bytes of the test's own."""

    async def _route(self, method: str, path: str, headers: Any, body: bytes, response: Any) -> None:
        await self.send_raw(response, *self.replies[0])


def asked(provider: str, server: BadServer | FakeServer, **options: Any) -> ModelSettings:
    spec = f"{provider}:any@{server.base_url.removesuffix('/v1')}"
    return ModelSettings(models={"default": spec}, max_attempts=1, **options)


async def test_an_answer_without_an_end_is_not_taken(provider: str) -> None:
    with Anywhere((JSON, PIECE), times=2_000) as server:
        with pytest.raises(ModelError, match="larger than 16 MB"):
            await put(asked(provider, server))
        assert server.sent < 64 * 2**20


async def test_an_answer_that_unpacks_without_end_is_not_unpacked(provider: str) -> None:
    with (
        Anywhere((f"{JSON}\r\nContent-Encoding: gzip", gzip.compress(bytes(64 * 2**20)))) as server,
        pytest.raises(ModelError, match="larger than 16 MB"),
    ):
        await put(asked(provider, server))


async def test_an_answer_that_comes_in_drips_is_given_up(provider: str) -> None:
    with Anywhere((JSON, b" "), times=1_000, pause=0.05) as server:
        began = time.monotonic()
        with pytest.raises(ModelError):
            await put(asked(provider, server, timeout=0.5))
        assert time.monotonic() - began < 10


async def test_a_redirect_to_another_port_gets_no_prompt(provider: str) -> None:
    with Redirecting(500, "/") as elsewhere, Redirecting(307, elsewhere.url) as server:
        settings = ModelSettings(models={"default": f"{provider}:any@{server.url.removesuffix('/v1')}"}, max_attempts=1)
        with pytest.raises(AskError):
            await put(settings)
        assert (server.asked, elsewhere.asked) == (1, 0)


def test_a_model_answers_in_the_next_event_loop_too(provider: str) -> None:
    """Anthropic's models share connections: in the second run of a sweep, each failed ("Event loop is closed")."""
    with FakeServer() as server:  # of another protocol: its refusals keep the connection open
        settings = asked(provider, server)
        said = [asyncio.run(_error_of(settings)) for _ in range(2)]
    assert "closed" not in said[1] and said[1] == said[0]


async def _error_of(settings: ModelSettings) -> str:
    with pytest.raises(AskError) as refused:
        await put(settings)
    return str(refused.value)


class Integration:
    """A model that keeps its client where an integration does."""

    def __init__(self, client: Any) -> None:
        self.async_client = client


@pytest.mark.slow
@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_a_client_of_either_http_library_takes_no_bomb(library: Any) -> None:
    with Anywhere((f"{JSON}\r\nContent-Encoding: gzip", gzip.compress(bytes(64 * 2**20)))) as server:
        async with library.AsyncClient() as client:
            assert restrict_client("mistralai", Integration(client))
            with pytest.raises(Exception, match="larger than 16 MB"):
                await client.get(server.base_url)


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_client_that_sends_in_its_own_way_is_not_taken_for_one_that_is_held(library: Any) -> None:
    class Delegating(library.AsyncClient):  # type: ignore[misc]  # as google-genai 3 does: the other has no hooks
        async def send(self, request: Any, **options: Any) -> Any:
            return await library.AsyncClient().send(request, **options)

    assert not restrict_client("mistralai", Integration(Delegating()))


def test_an_integration_whose_client_cannot_be_held_is_said_to_be_so_once(caplog: pytest.LogCaptureFixture) -> None:
    assert not restrict_client("bedrock", Integration(object())) and not restrict_client(
        "mistralai", Integration(object())
    )
    module._warn_of_unrestricted.cache_clear()
    for _ in range(2):
        module._warn_of_unrestricted("bedrock")
    assert caplog.text.count("bedrock: its integration brings its own HTTP client") == 1
