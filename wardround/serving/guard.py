"""Access control in front of LangGraph's server.

A page that is open in a browser can reach servers on the same machine, by address or by a DNS name pointed at it; so
can every local program. A request must therefore name the loopback interface as its host, come from a listed page (or
from no page), and have this server's token at the start of its path.
"""

import contextlib
import os
import secrets
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from wardround.serving.allowed import STUDIO, allowed
from wardround.serving.loopback import asked_by_another

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# What Studio and the SDK use. Left out are uploads to LangGraph's cloud, agents' protocols, and the page `/docs`, which
# runs a script of another host with the rights of our own pages.
_SERVED = {"", "assistants", "threads", "runs", "store", "info", "ok", "openapi.json"}
# Asked by a browser before a public page such as Studio's calls this machine. LangGraph grants it in its answer, but
# Starlette's CORS would refuse the request that asks.
_ASKS_FOR_THIS_MACHINE = b"access-control-request-private-network"


class Guard:
    """Refuses unauthorised requests, and removes the token from the path of the others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on to the server."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = _refusal(scope)
        if refusal is None:
            path = "/" + scope["path"].split("/", 2)[2] if scope["path"].count("/") > 1 else "/"
            headers = [header for header in scope["headers"] if header[0] != _ASKS_FOR_THIS_MACHINE]
            scope = {**scope, "path": path, "raw_path": path.encode(), "headers": headers}
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})
        else:
            await PlainTextResponse(f"{refusal}\n", status_code=403)(scope, receive, send)


def _refusal(scope: Scope) -> str | None:
    """Return why a request is refused; None if it is allowed."""
    headers = Headers(scope=scope)
    hosts = {f"{name}:{scope['server'][1]}" for name in _LOOPBACK}
    if len(given := headers.getlist("host")) != 1 or given[0].lower() not in hosts:
        return "refused: this server answers only to 127.0.0.1, localhost and [::1]"
    origins = {*allowed().origins, *(f"http://{host}" for host in hosts)}
    if any(origin not in origins for origin in headers.getlist("origin")):
        return "refused: pages of that origin may not call this server; allow it with `wardround dev --allow-origin`"
    if scope.get("client") and asked_by_another(scope["client"][1], scope["server"][1]):
        return "refused: this server answers only to the user who started it"
    _, token, *rest = f"{scope['path']}/".split("/", 2)  # there is none in the path of "OPTIONS *"
    if not secrets.compare_digest(token.encode(), allowed().token.encode()):
        return "refused: the address must begin with the token that was printed when this server started"
    if "".join(rest).split("/", 1)[0] not in _SERVED:
        return "refused: this path is not served here"
    return None


@contextlib.asynccontextmanager
async def _announce(app: Starlette) -> AsyncIterator[None]:
    """Print the server's address with the token, which LangGraph's own messages lack."""
    address = f"{os.environ['LANGGRAPH_API_URL']}/{allowed().token}"
    page = f"{STUDIO}/studio/?baseUrl={address}"
    print(
        f"Server, for programs: {address}\nStudio: {page}\nAnyone who has the address can run graphs: keep it secret.",
        flush=True,
    )
    if allowed().open_page:
        import threading
        import webbrowser

        threading.Timer(1, webbrowser.open, (page,)).start()
    yield


app = Starlette(middleware=[Middleware(Guard)], lifespan=_announce)
