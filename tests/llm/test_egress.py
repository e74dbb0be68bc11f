"""What leaves the machine: no request beyond the host that was named, none at all where that is asked for."""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from llm import AskError, ModelSpecError, RefusedError
from llm.build import build_model
from llm.egress import close_egress
from llm.settings import ModelSettings
from tests.llm.examinee import put
from tests.support.fake_server import FakeServer
from tests.support.processes import Forked
from wardround.cli import main
from wardround.run import postgres

ROOT = Path(__file__).parents[2]


class Redirecting(ThreadingHTTPServer):
    """Sends every request on."""

    def __init__(self, status: int, to: str) -> None:
        self.status, self.to, self.asked = status, to, 0
        super().__init__(("127.0.0.1", 0), _Redirect)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> "Redirecting":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Redirect(BaseHTTPRequestHandler):
    server: Redirecting

    def do_POST(self) -> None:
        self.server.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        self.send_header("Location", self.server.to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_or_port_gets_no_prompt_and_is_named(
    status: int, elsewhere: FakeServer
) -> None:
    with Redirecting(status, f"{elsewhere.base_url}/chat/completions") as server:
        with pytest.raises(RefusedError, match="redirects to another host, or to a page, are not followed"):
            await put(ModelSettings(models={"default": f"openai:any@{server.url}"}))
        assert server.asked == 1  # it would say the same again
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_to_a_page_of_the_same_host_is_not_taken_for_a_server_that_fails_for_a_while(
    status: int,
) -> None:
    """As before a gateway where people must log in; the client would ask there without the question."""
    with Redirecting(status, "/login") as server:
        with pytest.raises(RefusedError, match=rf"it has another address \(HTTP {status}: "):
            await put(ModelSettings(models={"default": f"openai:any@{server.url}"}))
        assert server.asked == 1


async def test_a_redirect_within_the_host_is_followed() -> None:
    with Redirecting(307, "/v1/chat/completions") as server:
        with pytest.raises(AskError):  # it sends in a circle
            await put(ModelSettings(models={"default": f"openai:any@{server.url}"}, max_attempts=1))
        assert server.asked > 5


def closed(program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program in a process of its own, as nothing opens the machine again."""
    with Forked([program], {**os.environ, **environment}, ROOT, run_closed) as process:
        return process.ended()


def run_closed() -> None:
    close_egress()
    exec(sys.argv[1], {})


ATTEMPTS = """
import asyncio, socket, urllib.request, httpx, openai
from llm.egress import EgressError
def refused(attempt):
    try:
        attempt()
    except BaseException as error:
        while error is not None:
            if isinstance(error, EgressError) or isinstance(getattr(error, 'reason', None), EgressError):
                return True
            if 'no-egress' in str(error):
                return True
            error = error.__cause__ or error.__context__
    return False
def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))
async def stream(host):
    await asyncio.open_connection(host, 80)
attempts = {
    'connect': lambda: socket.create_connection(('192.0.2.1', 80), 1),
    'connect_ex': lambda: socket.socket().connect_ex(('192.0.2.1', 80)),
    'ipv6': lambda: socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80)),
    'mapped': lambda: socket.socket(socket.AF_INET6).connect(('::ffff:192.0.2.1', 80)),
    'name': lambda: socket.getaddrinfo('evil.example', 80),
    'old name': lambda: socket.gethostbyname('evil.example'),
    'udp': udp,
    'urllib': lambda: urllib.request.urlopen('http://192.0.2.1/', timeout=1),
    'httpx': lambda: httpx.get('http://evil.example/', timeout=1),
    'asyncio': lambda: asyncio.run(stream('192.0.2.1')),
    'asyncio name': lambda: asyncio.run(stream('evil.example')),
    'openai': lambda: openai.OpenAI(base_url='http://evil.example/v1', api_key='x', max_retries=0).models.list(),
    'any address': lambda: socket.create_connection(('10.0.0.1', 80), 1),
}
print([name for name, attempt in attempts.items() if not refused(attempt)])
"""


@pytest.mark.slow
def test_no_way_of_pythons_leaves_a_closed_process() -> None:
    done = closed(ATTEMPTS, HTTP_PROXY="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")
    assert done.stdout == "[]\n", done.stdout + done.stderr


@pytest.mark.slow
def test_a_closed_process_still_asks_a_server_of_this_machine(elsewhere: FakeServer) -> None:
    program = f"""
import asyncio
from tests.llm.examinee import put
from llm import ModelSettings
for host in ("127.0.0.1", "localhost"):
    spec = "openai:any@http://" + host + ":{elsewhere.port}/v1"
    asyncio.run(put(ModelSettings(models={{"default": spec}})))
print("answered")
"""
    done = closed(program, NO_PROXY="", OPENAI_API_KEY="x")
    assert done.stdout == "answered\n", done.stderr[-2000:]
    assert len(elsewhere.requests) == 2


@pytest.mark.parametrize(
    "spec", ["openai:gpt-4o-mini", "openai:any@http://192.0.2.1/v1", "openai:any@https://evil.example"]
)
def test_a_model_elsewhere_is_refused_at_once_and_by_name(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.setattr("llm.egress._closed", True)
    with pytest.raises(ModelSpecError, match="not allowed with --no-egress"):
        build_model(spec, ModelSettings())


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("postgresql://me@localhost/db", True),
        ("postgresql://me@127.0.0.1:5433/db", True),
        ("postgresql:///db?host=/run/postgresql", True),
        ("postgresql://me@db.example/db", False),
        ("postgresql://me@localhost/db?hostaddr=192.0.2.1", False),
        ("postgresql://localhost,db.example/db", False),
        ("postgresql:///db?host=db.example", False),
        ("postgresql:///db?service=far", False),
    ],
)
def test_a_database_elsewhere_is_told_from_one_here(address: str, here: bool) -> None:
    conninfo = pytest.importorskip("psycopg.conninfo")
    assert postgres._on_this_machine(conninfo.conninfo_to_dict(address)) is here


def test_a_service_of_the_environment_may_be_a_database_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", "far")
    assert not postgres._on_this_machine({"dbname": "db"})


async def test_no_proxy_of_the_environment_carries_what_is_meant_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, elsewhere: FakeServer
) -> None:
    with Redirecting(500, "/") as proxy:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "intranet.example")
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for host in ("127.0.0.1", "localhost"):
            await put(ModelSettings(models={"default": f"openai:any@http://{host}:{elsewhere.port}/v1"}))
        assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "intranet.example,localhost,127.0.0.1,::1"
        assert proxy.asked == 0 and len(elsewhere.requests) == 2


def _may_unshare() -> bool:
    tool = shutil.which("unshare")
    return tool is not None and subprocess.run([tool, "-rn", "true"], capture_output=True).returncode == 0


def beside_a_server() -> None:
    """The command in a network namespace of its own, with a model server: as `unshare -rn`, but forked."""
    user, group = os.getuid(), os.getgid()
    assert ctypes.CDLL(None).unshare(0x10000000 | 0x40000000) == 0  # CLONE_NEWUSER, CLONE_NEWNET
    for file, content in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", file).write_text(content)
    with socket.socket() as loopback:  # a new namespace has the interface and leaves it down
        fcntl.ioctl(loopback, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))
    with FakeServer() as server:
        sys.argv = [part.replace("SERVER", server.base_url) for part in sys.argv]
        try:
            main()
        except SystemExit as end:
            print("exit", end.code, "asked", len(server.requests))


@pytest.mark.slow
@pytest.mark.skipif(not _may_unshare(), reason="network namespaces are not permitted here")
def test_a_run_with_a_server_of_this_machine_needs_no_other(tmp_path: Path) -> None:
    options = ["--limit", "1", "--set", "retrieval=false", "--set", "general_agents=1", "--set", "max_turns=2"]
    command = [
        "run",
        "--no-egress",
        "--models",
        "default=openai:fake-model@SERVER",
        *options,
        "--out",
        tmp_path / "run",
    ]
    with Forked(command, folder=tmp_path, program=beside_a_server) as process:
        done = process.ended()
    assert "exit" in done.stdout, done.stderr[-3000:]
    assert int(done.stdout.split("asked ")[1].split()[0]) > 5


@pytest.mark.slow
@pytest.mark.skipif(not _may_unshare(), reason="network namespaces are not permitted here")
def test_a_run_is_the_same_where_there_is_no_network_at_all(tmp_path: Path) -> None:
    """In a namespace of its own not even the loopback interface is up: whoever tried to leave would be seen to fail."""
    command = ["wardround", "run", "--no-egress", "--limit", "2", "--out", str(tmp_path / "run")]
    code = "import sys; from wardround.cli import main; sys.argv = sys.argv[1:]; main()"
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-c", code, *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "x"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "run" / "summary.json").is_file()
    assert "Connection" not in done.stderr and "LangSmith" not in done.stderr
