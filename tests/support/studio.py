"""A running `wardround dev`, with a log of every connection that leaves the machine, whose runs start at once."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEY = "sk-the-key-of-the-user"
TOKEN = "a-token-of-the-tests-0123"

# Loaded when the server starts: logs every name lookup and every connection that leaves the machine, and has the queue
# look for new runs twenty times a second instead of twice; a run waited up to a second for its start.
WITNESS = """
import sys

def note(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if host not in (None, "", "127.0.0.1", "::1", "localhost"):
        with open(FILE, "a") as out:
            out.write(f"{event} {arguments[-1] if host is None else host}\\n")

with open(FILE, "a") as out:
    out.write("watching\\n")
sys.addaudithook(note)

import asyncio

sleep = asyncio.sleep

def shorter(seconds, *result):
    of_the_queue = sys._getframe(1).f_globals.get("__name__") == "langgraph_runtime_inmem.ops"
    return sleep(min(seconds, 0.05) if of_the_queue else seconds, *result)

asyncio.sleep = shorter
"""


@dataclass
class Server:
    """A running `wardround dev`."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    contacts: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{TOKEN}"

    def wait_until_up(self, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/ok", timeout=5) as reply:
                if reply.status == 200:
                    return
            time.sleep(0.2)
        raise AssertionError(f"the server did not come up:\n{self.log.read_text('utf-8', 'replace')[-4000:]}")

    def stop(self, with_signal: signal.Signals) -> None:
        self.process.send_signal(with_signal)
        self.process.wait(30)

    def is_listening(self, host: str = "127.0.0.1") -> bool:
        with socket.socket() as probe:
            probe.settimeout(2)
            return probe.connect_ex((host, self.port)) == 0


@contextlib.contextmanager
def serving(
    folder: Path, *options: str, program: str = "wardround", setting: Mapping[str, str] = {}
) -> Iterator[Server]:
    """Start a server in a folder, ours or LangGraph's own command, with ``setting`` added to its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    contacts = folder / "contacts"
    witness = folder / "witness"
    witness.mkdir()
    (witness / "sitecustomize.py").write_text(f"FILE = {str(contacts)!r}\n{WITNESS}", "utf-8")
    # A user's folder with the name of one of ours, and a key that is only for tracing.
    (folder / "graphs").mkdir()
    (folder / "graphs" / "__init__.py").write_text("raise RuntimeError('the wrong graphs')", "utf-8")
    quiet = ("LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "OTEL_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(quiet)}
    environment |= {
        "PYTHONPATH": os.pathsep.join((str(witness), str(ROOT))),
        "LANGSMITH_API_KEY": "not-a-key",
        "NO_COLOR": "1",
        "LOG_LEVEL": "INFO",  # all that it says is searched
    }
    environment |= {"WARDROUND_TOKEN": TOKEN, "OPENAI_API_KEY": KEY, **setting}
    command = [str(Path(sys.executable).with_name(program)), "dev", "--port", str(port), *options]
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
    server = Server(process, port, log, contacts)
    try:
        server.wait_until_up()
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
