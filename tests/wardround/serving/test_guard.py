"""The guard before LangGraph's server: what names no token is refused, and is no fault of ours."""

import asyncio
from typing import Any

import pytest

from wardround.serving.allowed import allowed

pytest.importorskip("starlette", reason="the studio extra is not installed")

from wardround.serving.guard import Guard


def status_of(path: str) -> int:
    """Return the status that a request for a path gets from the guard; 200 is that of the server behind it."""
    sent: list[dict[str, Any]] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:2024")]
    scope = {"type": "http", "method": "GET", "path": path, "server": ("127.0.0.1", 2024), "headers": headers}
    asyncio.run(Guard(server)(scope, None, send))  # type: ignore[arg-type]
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("path", "status"), [("", 200), ("/", 200), ("/info", 200), ("/docs", 403), ("/runs/one", 200)]
)
def test_who_knows_the_token_gets_what_is_served(path: str, status: int) -> None:
    assert status_of(f"/{allowed().token}{path}") == status


@pytest.mark.parametrize("path", ["*", "", "/", "//", "/another/info"])
def test_a_path_without_the_token_is_refused(path: str) -> None:
    assert status_of(path) == 403
