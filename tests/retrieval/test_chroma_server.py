"""A Chroma server gone bad holds up nobody, and is not taken at any size."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from retrieval import CaseMemoryError, chroma_server, open_memory

Write = Callable[[Any], None]


@contextmanager
def answering(write: Write, *headers: tuple[str, str]) -> Iterator[str]:
    """The address of a server that answers everything with the same."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307 if headers and headers[0][0] == "Location" else 200)
            for header in (("Content-Type", "application/json"), *headers):
                self.send_header(*header)
            self.end_headers()
            with suppress(OSError):  # when the client has enough
                write(self.wfile)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def endless(file: Any) -> None:
    for _ in range(3_000):
        file.write(b" " * 2**16)


def in_drips(file: Any) -> None:
    for _ in range(300):
        file.write(b" ")
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "headers", "told"),
    [
        (endless, (), "larger than 1 MB"),
        (in_drips, (), "longer than 1 seconds"),
        (endless, (("Content-Encoding", "gzip"),), "compressed its answer as 'gzip'"),
        (lambda file: None, (("Location", "http://127.0.0.1:1/"),), "which is not followed"),
    ],
    ids=["without an end", "in drips", "packed", "a redirect"],
)
def test_a_server_gone_bad_is_one_error(
    monkeypatch: pytest.MonkeyPatch, write: Write, headers: tuple[tuple[str, str], ...], told: str
) -> None:
    monkeypatch.setattr(chroma_server, "SECONDS", 1.0)
    monkeypatch.setattr(chroma_server, "MOST", 2**20)
    began = time.monotonic()
    with answering(write, *headers) as url, pytest.raises(CaseMemoryError, match=f"does not answer.*{told}"):
        open_memory(url, "cheap")
    assert time.monotonic() - began < 8
