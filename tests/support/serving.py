"""A server of this machine under way while a test asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from wardround.serving.loopback import LoopbackServer

Server = TypeVar("Server", bound=LoopbackServer)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, answering in a thread; closed at the end."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
