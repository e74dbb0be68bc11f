"""`wardround dev` against others on the machine: pages, names and programs of theirs, and a case."""

import http.client
import json
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from tests.graphs.scripting import pictures_in
from tests.support.fake_server import FakeServer
from tests.support.hostile import TERMINAL, obeyed
from tests.support.studio import KEY, ROOT, TOKEN, Server, serving

pytestmark = pytest.mark.slow
pytest.importorskip("langgraph_api", reason="the studio extra is not installed")

STUDIO = "https://smith.langchain.com"
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
PICTURED = next(case for case in load_cases() if case.examinations.images and case.language == "en")
QUICK = {"retrieval": False, "feedback": "off", "general_agents": 1, "interactive": False}


@pytest.fixture(scope="module")
def ours() -> Iterator[FakeServer]:
    """The model server that ours was started with."""
    with FakeServer() as model:
        yield model


@pytest.fixture
def theirs() -> Iterator[FakeServer]:
    """A model server of the attacker's."""
    with FakeServer() as model:
        yield model


@pytest.fixture(scope="module")
def pages() -> Iterator["Pages"]:
    with Pages() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, ours: FakeServer, pages: "Pages") -> Iterator[Server]:
    options = ("--allow", f"models=openai:*@{ours.base_url}", "--allow-origin", f"http://friend.example:{pages.port}")
    with serving(tmp_path_factory.mktemp("attacked"), *options) as running:
        yield running


class Pages(ThreadingHTTPServer):
    """A site under any name: its page is what `body` says; the paths that it is asked for are kept."""

    def __init__(self) -> None:
        self.body = ""
        self.told: list[str] = []
        super().__init__(("127.0.0.1", 0), _Page)

    @property
    def port(self) -> int:
        return self.server_address[1]

    def __enter__(self) -> "Pages":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Page(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        self.server.told.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.body.encode())

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


def ask(
    server: Server, path: str, body: Any = None, method: str = "", **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    """One request, with the headers as they are given: status, body and headers of the reply."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest(method or ("POST" if body is not None else "GET"), path, skip_host="Host" in headers)
    sent = json.dumps(body).encode() if body is not None else b""
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(sent)), **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(sent)
    reply = connection.getresponse()
    return reply.status, reply.read().decode("utf-8", "replace"), reply.headers


def run(server: Server, context: dict[str, Any] | None = None, **given: Any) -> str:
    """A whole run by who has the token: what came of it, or why not."""
    asked = {"assistant_id": "clinical_workflow", "context": {**QUICK, **(context or {})}, **given}
    _, reply, _ = ask(server, f"/{TOKEN}/runs/wait", asked)
    return reply


def test_langgraphs_own_command_in_a_clone_is_held_to_the_same(
    tmp_path: Path, pages: Pages, theirs: FakeServer
) -> None:
    """And it posts nothing where the environment says so. A graph of the user's stands beside ours."""
    ours_and_theirs = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    ours_and_theirs["graphs"]["mine"] = {"path": "./mine.py:graph"}
    (tmp_path / "langgraph.json").write_text(json.dumps(ours_and_theirs), "utf-8")
    (tmp_path / "mine.py").write_text("import wardround as wr\ngraph = wr.one_step\n", "utf-8")
    collector = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": f"http://localhost:{pages.port}"}
    asked = len(pages.told)
    with serving(tmp_path, "--no-browser", "--no-reload", program="langgraph", setting=collector) as running:
        assert ask(running, "/ok")[0] == 403
        for header, name in (("Origin", "https://evil.example"), ("Origin", "null"), ("Host", "evil.example")):
            assert ask(running, f"/{TOKEN}/runs/wait", {}, **{header: name})[0] == 403
        given = {"case_id": "surgery-03"}
        assert "--allow models" in run(running, {"models": {"default": f"openai:any@{theirs.base_url}"}}, input=given)
        assert "diagnosis_basis" in run(running, input=given)
        assert '"report":{"symptoms"' in run(running, input=given, assistant_id="mine")
    assert theirs.requests == [] and pages.told[asked:] == []


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", f"{STUDIO}.evil.example"])
def test_a_page_from_elsewhere_is_refused_even_with_the_token(server: Server, origin: str) -> None:
    for path in ("/ok", "/runs/wait", "/threads"):
        status, reply, headers = ask(server, f"/{TOKEN}{path}", {}, Origin=origin)
        assert status == 403 and "--allow-origin" in reply
        assert "access-control-allow-origin" not in headers
    status, _, headers = ask(
        server, f"/{TOKEN}/runs/wait", method="OPTIONS", Origin=origin, Access_Control_Request_Method="POST"
    )
    assert status == 403 and "access-control-allow-private-network" not in headers


def test_studios_page_is_let_in_by_the_browser_and_no_other(server: Server) -> None:
    preflight = {"Origin": STUDIO, "Access_Control_Request_Method": "POST"}
    for more in ({}, {"Access_Control_Request_Private_Network": "true"}):  # browsers differ in whether they ask for it
        status, reply, headers = ask(server, f"/{TOKEN}/runs/wait", method="OPTIONS", **preflight, **more)
        assert status == 200, reply
        assert headers["access-control-allow-origin"] == STUDIO
        assert headers["access-control-allow-private-network"] == "true"
    assert ask(server, f"/{TOKEN}/info", Origin=STUDIO)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost.evil.example:{port}",
        "0.0.0.0:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
    ],
)
def test_another_host_name_is_refused_as_a_rebound_one_would_be(server: Server, host: str) -> None:
    status, reply, _ = ask(server, f"/{TOKEN}/ok", Host=host.format(port=server.port))
    assert status in (400, 403), reply
    assert ask(server, f"/{TOKEN}/ok", Host=f"LocalHost:{server.port}")[0] == 200


def test_a_request_with_two_hosts_or_none_is_refused(server: Server) -> None:
    for lines in ("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n", ""):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            request = f"GET /{TOKEN}/ok HTTP/1.1\r\n{lines.format(port=server.port)}Connection: close\r\n\r\n"
            connection.sendall(request.encode())
            assert connection.recv(100).split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "path",
    [
        "/ok",
        "/",
        "/metrics",
        "/docs",
        "/threads",
        "/deploy",
        "//ok",
        f"/{TOKEN}x/ok",
        f"/x/../{TOKEN}/ok",
        f"/%2F{TOKEN}/ok",
    ],
)
def test_nothing_at_all_is_answered_without_the_token(server: Server, path: str) -> None:
    assert ask(server, path)[0] == 403


@pytest.mark.parametrize(
    "path", ["deploy", "deploy/", "docs", "internal", "mcp", "a2a/x", "ui/x", "metrics", "x/../deploy"]
)
def test_uploads_and_protocols_of_agents_are_not_served(server: Server, path: str) -> None:
    for body in (None, {}):
        assert ask(server, f"/{TOKEN}/{path}", body)[0] == 403


def test_a_websocket_is_held_to_the_same(server: Server) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    upgrade["Sec_WebSocket_Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    assert ask(server, f"/{TOKEN}/threads/x/stream", Origin="https://evil.example", **upgrade)[0] == 403
    assert ask(server, "/threads/x/stream", **upgrade)[0] == 403


def test_a_model_at_the_attackers_address_is_never_asked(server: Server, theirs: FakeServer, ours: FakeServer) -> None:
    spec = f"openai:any@{theirs.base_url}"
    lookalikes = [f"openai:any@{ours.base_url}@{theirs.base_url}", f"openai:any@{ours.base_url}.evil.example/v1"]
    for model in (spec, "openai:gpt-4o-mini", *lookalikes):
        for models in ({"default": model}, {"default": "offline", "diagnosis.general": model}):
            reply = run(server, {"models": models}, input={"case_id": "surgery-03"})
            assert "models" in reply and "diagnosis_basis" not in reply
    assistant = {"graph_id": "clinical_workflow", "context": {"models": {"default": spec}}}
    made = json.loads(ask(server, f"/{TOKEN}/assistants", assistant)[1])
    for asked in (
        {"assistant_id": made["assistant_id"]},
        {"assistant_id": "clinical_workflow", "config": {"configurable": {"models": {"default": spec}}}},
    ):
        reply = ask(server, f"/{TOKEN}/runs/wait", {**asked, "input": {"case_id": "surgery-03"}})[1]
        assert "diagnosis_basis" not in reply
    assert theirs.requests == []
    assert f"--allow models={spec}" in run(server, {"models": {"default": spec}}, input={"case_id": "surgery-03"})


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({}, "--allow models="),
        ({"api_key_env": "OPENAI_API_KEY"}, "may not use its environment"),
        ({"headers": {"X-A": "$OPENAI_API_KEY"}}, "may not set extra_body or headers"),
        ({"headers": {"Helicone-Target-Url": "https://other.example"}}, "may not set extra_body or headers"),
        ({"extra_body": {"model": "another"}}, "may not set extra_body or headers"),
    ],
)
def test_a_block_names_no_other_server_or_model_and_no_variable_of_ours(
    server: Server, theirs: FakeServer, ours: FakeServer, own: dict[str, Any], said: str
) -> None:
    spec = (
        {"spec": f"openai:any@{ours.base_url}", **own} if own else {"spec": "openai:any", "base_url": theirs.base_url}
    )
    asked = len(ours.requests)
    reply = run(server, {"models": {"default": "mine"}, "model": {"mine": spec}}, input={"case_id": "surgery-03"})
    assert said in reply
    assert theirs.requests == [] and len(ours.requests) == asked


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("case_source", "{secret}"),
        ("memory", "http://127.0.0.1:{port}"),
        ("memory", "{secret}"),
        ("embedding", "{secret}"),
        ("cache", "{secret}.sqlite"),
        ("trace_file", "{secret}.jsonl"),
        ("example", "{secret}"),
        ("example", "{secret}.missing"),
    ],
)
def test_a_run_reaches_for_no_file_or_server_that_was_not_named_at_the_start(
    server: Server, tmp_path: Path, theirs: FakeServer, setting: str, value: str
) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("the private key")
    reply = run(server, {setting: value.format(secret=secret, port=theirs.port)}, input={"case_id": "surgery-03"})
    assert "the private key" not in reply
    assert setting in reply and "diagnosis_basis" not in reply
    refusal = "is not a setting of" if setting == "trace_file" else f"--allow {setting}="
    assert refusal in reply, "nothing is said of the file, not even whether there is one"
    assert list(tmp_path.iterdir()) == [secret]


def test_a_served_case_shows_pictures_of_its_own_folder_alone(server: Server, ours: FakeServer, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("the private key")
    borrowed = tmp_path / "ct.png"  # an image, but of another folder
    borrowed.write_bytes(Path(PICTURED.folder, PICTURED.examinations.images[0].file).read_bytes())

    def show(case: dict[str, Any]) -> str:
        context = {"models": {"default": f"openai:any@{ours.base_url}"}, "retrieval": False}
        asked = {"assistant_id": "one_step", "input": {"case": case}, "context": context}
        return ask(server, f"/{TOKEN}/runs/wait", asked)[1]

    whole = PICTURED.model_dump(mode="json")
    (item, *_) = {image.item for image in PICTURED.examinations.images}
    for folder, file in (
        ("", str(secret)),
        ("/", str(secret).removeprefix("/")),
        (str(tmp_path), "id_rsa"),
        (str(tmp_path), "ct.png"),
        (PICTURED.folder, f"../../../../../../..{secret}"),
        (PICTURED.folder, str(borrowed)),
    ):
        case = {**whole, "folder": folder, "examinations": {"images": [{"file": file, "item": item}]}}
        reply = show(case)
        assert "examinations.images.0.file" in reply and "private key" not in reply, (folder, file)
    assert ours.requests == []
    show(whole)
    assert any(pictures_in(request) for request in ours.requests)


def test_nobody_is_called_when_a_run_has_ended(server: Server, pages: Pages) -> None:
    asked = {"assistant_id": "clinical_workflow", "input": {"case_id": "surgery-03"}, "context": QUICK}
    for url in (f"http://127.0.0.1:{pages.port}/", "http://evil.example/", "/threads"):
        status, _, _ = ask(server, f"/{TOKEN}/runs/wait", {**asked, "webhook": url})
        assert status == 422


ATTACK = """<html><body><pre id="told"></pre><script>
const told = [];
async function attempt(name, url, options) {
  try {
    const reply = await fetch(url, options);
    told.push(name + ": " + reply.type + " " + reply.status + " " + await reply.text());
  } catch (error) { told.push(name + ": refused by the browser"); }
  document.getElementById("told").textContent = told.join("\\n") + "\\nDONE" + told.length;
}
const body = JSON.stringify(BODY);
(async () => {
  for (const base of BASES) {
    await attempt("read", base + "/ok", {});
    await attempt("simple", base + "/runs", {method: "POST", mode: "no-cors", body});
    await attempt("json", base + "/runs", {method: "POST", body, headers: {"Content-Type": "application/json"}});
  }
})();
</script></body></html>"""


def browse(pages: Pages, name: str, server: Server, *bases: str, body: Any = None) -> str:
    """What a page of that name learns, its own name moved to this machine."""
    pages.body = ATTACK.replace("BODY", json.dumps(body or {})).replace("BASES", json.dumps(bases))
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP *.example 127.0.0.1, EXCLUDE 127.0.0.1",
        "--virtual-time-budget=20000",
        "--dump-dom",
        f"http://{name}:{pages.port}/",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout
    return shown.split('<pre id="told">')[1].split("</pre>")[0]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_page_in_a_browser_commands_nothing(server: Server, pages: Pages, theirs: FakeServer) -> None:
    attack = {
        "assistant_id": "clinical_workflow",
        "input": {"case_id": "surgery-03"},
        "context": {"models": {"default": f"openai:any@{theirs.base_url}"}},
    }
    here = f"http://127.0.0.1:{server.port}"
    rebound = f"http://evil.example:{server.port}"
    told = browse(pages, "evil.example", server, here, f"{here}/{TOKEN}", rebound, f"{rebound}/{TOKEN}", body=attack)
    assert "DONE12" in told, told
    assert "200" not in told and "opaque 0" in told and '"ok"' not in told
    assert theirs.requests == []
    friendly = browse(pages, "friend.example", server, f"{here}/{TOKEN}")
    assert 'read: cors 200 {"ok":true' in friendly, friendly


def test_the_key_has_reached_nobody_and_the_log_does_not_hold_it_or_the_token(server: Server) -> None:
    log = server.log.read_text("utf-8", "replace")
    assert KEY not in log
    assert log.count(TOKEN) == 2  # where it was printed: the address for programs, and Studio's


def test_the_log_holds_no_sign_that_a_terminal_obeys(server: Server) -> None:
    """A field of a case that was refused could clear the screen, or retitle or rewrite it."""
    said = run(server, input={"case": {f"refused {' '.join(TERMINAL)}": ""}})
    log = server.log.read_text("utf-8", "replace")
    assert "refused" in said and "refused" in log and not obeyed(log)


def test_a_termination_stops_the_server(server: Server) -> None:  # the last that asks it
    server.stop(signal.SIGTERM)
    assert not server.is_listening()
