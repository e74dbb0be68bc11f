"""Egress control: redirects to other hosts are not followed, and `--no-egress` blocks all connections out.

`close_egress` blocks everything that uses Python's sockets in this process. Libraries that open connections in compiled
code, and child processes, escape it; a network namespace blocks them too (`docs/trust.md`).
"""

import ipaddress
import os
import sys
from typing import Any
from urllib.parse import urlsplit

_NAMES = ("localhost", "")
_TURNS_INTO_GET = (301, 302, 303)  # redirects after which HTTP clients send a GET
_closed = False


class EgressError(ConnectionError):
    """A connection out of the machine was blocked."""


def close_egress() -> None:
    """Block all connections of this process except to the loopback interface; it cannot be undone."""
    global _closed
    if not _closed:
        _closed = True
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]  # a proxy on this machine would forward everything
        os.environ.update(NO_PROXY="*", HF_HUB_OFFLINE="1", WARDROUND_NO_EGRESS="1")  # inherited by child processes
        sys.addaudithook(_audit)


def keep_loopback_direct() -> None:
    """Exclude this machine from the environment's proxies, which would see the prompts and may run elsewhere."""
    if any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in os.environ):
        given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        spared = ",".join(dict.fromkeys(filter(None, [*given.split(","), "localhost", "127.0.0.1", "::1"])))
        os.environ.update(NO_PROXY=spared, no_proxy=spared)


def is_closed() -> bool:
    """Whether egress is blocked."""
    return _closed


def stays(url: str | None) -> bool:
    """Whether a URL may be called: any, or only loopback addresses while egress is blocked."""
    try:
        return not _closed or (url is not None and is_loopback(urlsplit(url).hostname or "?"))
    except ValueError:
        return False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
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
        raise EgressError(f"--no-egress: refused a connection to {host}, which is not this machine")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is the loopback interface of this machine."""
    if host in _NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def stay_with_host(response: Any) -> None:
    """Remove the target of a redirect to another host, port or scheme (a response hook of an HTTP client).

    The client then gets a response without an answer; following the redirect would send prompts and key to a host that
    nobody named. So too where a question would arrive without its text, as at a page to log in.
    """
    if "location" in response.headers:
        source, target = response.url, response.url.join(response.headers["location"])
        is_emptied = response.request.method == "POST" and response.status_code in _TURNS_INTO_GET
        if (source.host, source.port, source.scheme) != (target.host, target.port, target.scheme) or is_emptied:
            del response.headers["location"]
