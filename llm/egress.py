"""What may leave this machine: no request goes on to a host that was not named; none at all where that is asked for.

`close_egress` holds whatever speaks through Python's sockets in this process. A library that opens connections in
compiled code, and a process that is started, are not seen by it: a network namespace holds them too (`docs/trust.md`).
"""

import ipaddress
import os
import sys
from typing import Any
from urllib.parse import urlsplit

_NAMES = ("localhost", "")
_closed = False


class EgressError(ConnectionError):
    """Something would have left the machine."""


def close_egress() -> None:
    """From now on refuse every connection of this process but to the loopback interface; it cannot be undone."""
    global _closed
    if not _closed:
        _closed = True
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]  # a proxy on this machine would carry everything out
        os.environ.update(NO_PROXY="*", HF_HUB_OFFLINE="1", WARDROUND_NO_EGRESS="1")  # also for processes of ours
        sys.addaudithook(_hold)


def keep_loopback_direct() -> None:
    """Let no proxy of the environment carry what is meant for this machine: it would see it, and may be elsewhere."""
    if any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in os.environ):
        given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        spared = ",".join(dict.fromkeys(filter(None, [*given.split(","), "localhost", "127.0.0.1", "::1"])))
        os.environ.update(NO_PROXY=spared, no_proxy=spared)


def is_closed() -> bool:
    """Whether nothing may leave."""
    return _closed


def stays(url: str | None) -> bool:
    """Whether an address may be called: any, unless nothing may leave; then those of the loopback interface."""
    try:
        return not _closed or (url is not None and is_loopback(urlsplit(url).hostname or "?"))
    except ValueError:
        return False


def _hold(event: str, arguments: tuple[Any, ...]) -> None:
    match event:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg":
            address = arguments[1]
        case "socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr" | "socket.getnameinfo":
            address = arguments[0]
        case _:
            return
    host = address[0] if isinstance(address, tuple) else address
    local = event.startswith(("socket.connect", "socket.send")) and not isinstance(address, tuple)  # a Unix socket
    if host is not None and not local and not is_loopback(host.decode() if isinstance(host, bytes) else str(host)):
        raise EgressError(f"--no-egress: {host} is not this machine, and nothing may leave it")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, seen from itself."""
    if host in _NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def stay_with_host(response: Any) -> None:
    """Take the address off a redirect to another host, or to one without encryption (a hook of an HTTP client).

    The client then has an answer that is none. A redirect would carry the prompts, and the key, to whom nobody named.
    """
    if "location" in response.headers:
        here, there = response.url, response.url.join(response.headers["location"])
        if (here.host, here.port) != (there.host, there.port) or here.scheme != there.scheme:
            del response.headers["location"]
