"""Local web pages: served on the loopback interface, to those who have the address with its token."""

import base64
import io
import os
import secrets
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cases.pictures import PictureError, read_picture
from wardround.printing import echo

_DIGITS = 12  # of a length; of thousands, Python makes no number
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


@contextmanager
def binding(port: int) -> Iterator[None]:
    """Name the port and a remedy in the error of a port that cannot be bound.

    Raises:
        OSError: with that message.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; choose another with --port", f"port {port}") from error


def callers(port: int, server_port: int) -> set[int]:
    """Return the ids of the users who have a connection from one port to another, as Linux tells; else nothing.

    Other users of the machine can read our token in the command line of the browser that is opened with it.
    """
    found: set[int] = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/net/{table}", encoding="ascii") as lines:
            for _, here, there, *_, user in (line.split()[:8] for line in lines):
                if here.endswith(f":{port:04X}") and there.endswith(f":{server_port:04X}"):
                    found.add(int(user))
    return found


def asked_by_another(port: int, server_port: int) -> bool:
    """Whether a caller is neither who runs this process nor root, who may read everything anyway."""
    return any(user not in (0, os.getuid()) for user in callers(port, server_port))


class LoopbackServer(ThreadingHTTPServer):
    """A server that only this machine can reach, and only with the token."""

    daemon_threads = True

    def __init__(self, handler: "type[GuardedHandler]", port: int = 0) -> None:
        """Bind the server; port 0 takes any free port.

        Raises:
            OSError: the port cannot be bound; the message gives a remedy.
        """
        self.token = secrets.token_urlsafe(16)
        with binding(port):
            super().__init__(("127.0.0.1", port), handler)

    @property
    def address(self) -> str:
        """The URL for browsers."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a bug of ours on the terminal; a caller who goes away, or never ends what it sends, is none."""
        if not isinstance(sys.exception(), OSError):
            echo(traceback.format_exc(), err=True)

    def serve_until_interrupted(self, *, browser: bool) -> None:
        """Serve until Ctrl-C."""
        if browser:
            import threading
            import webbrowser

            threading.Timer(0.5, webbrowser.open, (self.address,)).start()
        with self, suppress(KeyboardInterrupt):
            self.serve_forever()


class GuardedHandler(BaseHTTPRequestHandler):
    """Answers only requests from its own page or none, to a loopback name, with the token."""

    server: LoopbackServer
    server_version, sys_version = "wardround", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(message)s\n"
    timeout = 30

    def do_GET(self) -> None:
        """Send the page, if the request is allowed; there is one path, with a query."""
        path = self.asked_for()
        if path:
            self.answer(HTTPStatus.NOT_FOUND, "there is no such page")
        elif path is not None:
            self.show()

    def show(self) -> None:
        """Send a page."""
        raise NotImplementedError

    def asked_for(self) -> str | None:
        """Return the path after the token; None if the request was refused."""
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        origins = self.headers.get_all("origin") or []
        token, _, path = self.path.partition("?")[0].lstrip("/").partition("/")  # no URL yet, but what anybody sent
        if [host.lower() for host in self.headers.get_all("host") or []] not in [[host] for host in hosts]:
            refusal = "this server answers only to 127.0.0.1 and localhost"
        elif any(origin not in {f"http://{host}" for host in hosts} for origin in origins):
            refusal = "pages of that origin may not call this server"
        elif asked_by_another(self.client_address[1], self.server.server_port):
            refusal = "this server answers only to the user who started it"
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            refusal = "the address must begin with the token that was printed when this server started"
        else:
            return path
        self.answer(HTTPStatus.FORBIDDEN, f"refused: {refusal}")
        return None

    def posted(self, path: str, kind: str, largest: int, wanted: str) -> bytes | None:
        """Return the body posted to a path after the token; None if the request was refused.

        It must have the content type ``kind`` and at most ``largest`` bytes; otherwise the error says that ``wanted``
        was expected.
        """
        if (requested_path := self.asked_for()) is None:
            return None
        length = self.headers.get("content-length", "")
        if requested_path != path or self.headers.get_content_type() != kind or not length.isdecimal():
            self.answer(HTTPStatus.BAD_REQUEST, f"expected {wanted}")
        elif len(length) > _DIGITS or int(length) > largest:
            self.answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected {wanted}")
        else:
            return self.rfile.read(int(length))
        return None

    def answer(
        self, status: HTTPStatus, text: str, kind: str = "text/plain", policy: str = "default-src 'none'"
    ) -> None:
        """Send a text, with the content security policy of a page."""
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Security-Policy": policy}
        self._send(status, headers, text.encode("utf-8", "replace"))

    def redirect(self, query: str = "") -> None:
        """Send the browser to the page, with a query."""
        self._send(HTTPStatus.SEE_OTHER, {"Location": f"/{self.server.token}/{query}"}, b"")

    def _send(self, status: HTTPStatus, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name, value)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address contains the token."""


def as_data(file: str | Path, longest: int | None = None) -> tuple[str, str]:
    """Return a picture as a data URL, or why it cannot be shown; the other value is empty.

    A picture with a longer side of more than ``longest`` pixels is scaled down.
    """
    try:
        content, mime = read_picture(file)
    except PictureError as error:
        return "", str(error)
    if longest is not None:
        content, mime = _shrunk(content, mime, longest)
    return f"data:{mime};base64,{base64.b64encode(content).decode()}", ""


def _shrunk(content: bytes, mime: str, longest: int) -> tuple[bytes, str]:
    from PIL import Image as Raster
    from PIL import ImageOps

    with Raster.open(io.BytesIO(content)) as raster:
        if max(raster.size) <= longest:
            return content, mime
        # JPEG has neither transparency nor 16 bits: a drawing would be black, an X-ray white.
        mode = "I" if raster.mode.startswith("I") else "RGBA" if raster.has_transparency_data else "RGB"
        copy = ImageOps.exif_transpose(raster).convert(mode)  # as a browser turns it
        copy.thumbnail((longest, longest))
    kind = "jpeg" if mode == "RGB" else "png"
    buffer = io.BytesIO()
    copy.convert("I;16" if mode == "I" else mode).save(buffer, kind, quality=80)  # PNG has no 32 bits
    return buffer.getvalue(), f"image/{kind}"
