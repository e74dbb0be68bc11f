"""LangSmith: the environment switches nothing on, `run --tracing` does, and the answer key is never in it."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cases import load_cases, save_cases
from graphs.catalogue import GRAPHS
from llm.tracing import UNTRACED
from tests.support.canaries import canaries, planted_key
from tests.support.fake_server import FakeServer

ROOT = Path(__file__).parents[2]


class Collector(ThreadingHTTPServer):
    """Takes whatever is posted to it, as LangSmith would."""

    def __init__(self) -> None:
        self.posted: list[str] = []
        super().__init__(("127.0.0.1", 0), _Collect)

    @property
    def environment(self) -> dict[str, str]:
        """What switches LangChain's tracing on for every program of a shell."""
        switches = ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING")
        url = f"http://127.0.0.1:{self.server_address[1]}"
        return {
            **os.environ,
            **dict.fromkeys(switches, "true"),
            "LANGSMITH_ENDPOINT": url,
            "LANGCHAIN_ENDPOINT": url,
            "LANGSMITH_API_KEY": "lsv2_key",
            "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
            "PYTHONPATH": str(ROOT),
        }


class _Collect(BaseHTTPRequestHandler):
    server: Collector
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        if length := int(self.headers.get("Content-Length", 0)):
            body = self.rfile.read(length)
        else:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        self.server.posted.append(body.decode("utf-8", "replace"))
        self._answer()

    do_PATCH = do_POST

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def langsmith() -> Iterator[Collector]:
    with Collector() as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        yield collector
        collector.shutdown()


def program(code: str, langsmith: Collector, *arguments: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=langsmith.environment, capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


MAIN = "from wardround.cli import main; main()"


@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_keeps_langchains_own_tracer_away(name: str) -> None:
    assert GRAPHS[name].config is not None
    assert GRAPHS[name].config["callbacks"] == UNTRACED


FROM_PYTHON = """
import asyncio
import wardround as wr
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from tests.llm.examinee import put
from wardround.cli import main

case = wr.load_cases()[0]
quick = {"retrieval": False, "general_agents": 1, "feedback": "off", "max_turns": 2}
wr.clinical_workflow.invoke({"case": case}, context=quick)
asyncio.run(wr.clinical_workflow.ainvoke({"case": case}, context={**quick, "models": {"default": SPEC}}))
for _ in wr.consultation.stream({"case": case}, context={"retrieval": False, "max_turns": 2}):
    pass
wr.one_step.with_config(tags=["mine"]).invoke({"case": case}, {"metadata": {"a": "b"}}, context={"retrieval": False})
asyncio.run(put(wr.ModelSettings(models={"default": SPEC})))  # as a judge is asked: within no graph
wr.run_experiment({"data": {"limit": 1}, "workflow": quick}, "by python")
wait_for_all_tracers()
print("done", flush=True)
RunnableLambda(lambda _: "of the user's own").invoke("other work")
wait_for_all_tracers()
try:
    main()  # which tells LangChain by the environment, too, but not a process that has asked it
except SystemExit as end:
    assert not end.code, end.code
wait_for_all_tracers()
"""


@pytest.mark.slow
def test_runs_and_graphs_and_judges_called_from_python_post_nothing_and_other_work_of_the_process_does(
    langsmith: Collector, tmp_path: Path
) -> None:
    run = ["run", "--limit", "1", "--set", "retrieval=false", "--out", "by command"]
    with FakeServer() as server:
        program(FROM_PYTHON.replace("SPEC", repr(f"openai:any@{server.base_url}")), langsmith, *run, cwd=tmp_path)
        assert len(server.requests) > 5
    posted = "".join(langsmith.posted)
    assert "other work" in posted, "the collector does collect"
    assert load_cases()[0].patient.chief_complaint not in posted
    assert posted.count('"run_type"') <= 2 and "Clinical workflow" not in posted


WITHIN_OTHER_WORK = """
import asyncio
from typing import TypedDict
import wardround as wr
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

class Mine(TypedDict, total=False):
    case_id: str
    backtracks: int

case = wr.load_cases()[0]
quick = {"retrieval": False, "general_agents": 1, "feedback": "off", "max_turns": 2}
wr.build_clinical_workflow().compile(checkpointer=InMemorySaver()).invoke(
    {"case": case}, {"configurable": {"thread_id": "1"}}, context=quick
)

def called(name):
    wr.clinical_workflow.invoke({"case": case}, context=quick)
    return RunnableLambda(lambda _: "traced after it").invoke(name)

async def awaited(name):
    await wr.clinical_workflow.ainvoke({"case": case}, context=quick)
    async for _ in wr.clinical_workflow.astream({"case": case}, context=quick):
        await RunnableLambda(lambda _: "traced between its steps").ainvoke(name)
    return name

RunnableLambda(called).invoke("called by other work")
asyncio.run(RunnableLambda(awaited).ainvoke("awaited by other work"))

def ward(state):
    return {"backtracks": wr.clinical_workflow.invoke(state, context=quick)["backtracks"]}

mine = StateGraph(Mine).add_node(ward).add_edge(START, "ward").compile(name="a graph of other work")
mine.invoke({"case_id": case.id})
wait_for_all_tracers()
"""


@pytest.mark.slow
def test_a_graph_within_other_work_that_is_traced_stays_out_of_its_trace(langsmith: Collector, tmp_path: Path) -> None:
    program(WITHIN_OTHER_WORK, langsmith, cwd=tmp_path)
    posted = "".join(langsmith.posted)
    for own in ("called by", "traced after it", "awaited by", "traced between its steps", "a graph of other work"):
        assert own in posted, own
    assert load_cases()[0].patient.chief_complaint not in posted and "history_taking" not in posted


@pytest.mark.slow
def test_tracing_by_our_own_flag_posts_what_models_are_asked_and_never_the_key(
    langsmith: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = load_cases(split="test")[0]
    case = planted_key(own, closed=False)
    # The second-level departments of a data set are offered to a doctor who chooses the case's department.
    case = case.model_copy(update={"key": case.key.model_copy(update={"sub_departments": own.key.sub_departments})})
    file = tmp_path / "cases.jsonl"
    save_cases([case.model_copy(update={"examinations": case.examinations.model_copy(update={"images": []})})], file)
    with FakeServer() as server:
        gate = tmp_path / "gate.toml"
        gate.write_text(f"""[models]
default = "mine"
[model.mine]
spec = "openai:fake-model@{server.base_url}"
headers = {{ X-Gate-Key = "$GATE_KEY" }}
""")
        options = [str(gate), "--cases", str(file), "--set", "general_agents=1"]
        options += ["--set", "max_turns=2", "--set", "retrieval=false", "--out", str(tmp_path / "run"), "--tracing"]
        code = f"import sys\ntry:\n    {MAIN}\nexcept SystemExit as end:\n    assert end.code in (0, 1, None), end.code"
        monkeypatch.setenv("GATE_KEY", "of-the-gate-12345")
        program(code, langsmith, "run", *options, cwd=tmp_path)
        assert {request.headers["x-gate-key"] for request in server.requests} == {"of-the-gate-12345"}
    end = time.monotonic() + 20
    while time.monotonic() < end and "Clinical workflow" not in "".join(langsmith.posted):
        time.sleep(0.2)
    posted = "".join(langsmith.posted)
    assert case.patient.chief_complaint in posted and "Clinical workflow" in posted
    assert canaries(json.dumps(case.model_dump(mode="json"))) != set()
    assert canaries(posted) == set()
    assert "of-the-gate-12345" not in posted, "LangChain posts the fields of a model beside each call"


WITH_LITTLE_PATIENCE = f"""
import llm.tracing
llm.tracing._PATIENCE = 0.5
{MAIN}
"""


@pytest.mark.slow
def test_a_service_that_does_not_answer_does_not_hold_up_the_end_of_a_run_which_says_what_is_not_sent(
    langsmith: Collector, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and answers nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {**langsmith.environment, "LANGSMITH_ENDPOINT": url, "LANGCHAIN_ENDPOINT": url}
        run = ["run", "--limit", "1", "--set", "retrieval=false", "--out", "run", "--tracing"]
        done = subprocess.run(
            [sys.executable, "-c", WITH_LITTLE_PATIENCE, *run],
            env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=110,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"LangSmith did not take the last \d+ records", done.stderr), done.stderr


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), None])
def test_the_last_traces_are_waited_for_however_a_run_ends(
    error: BaseException | type[BaseException] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from wardround.cli import app

    def ended(*_: object) -> int:
        if error is not None:
            raise error
        return 0

    waited: list[str] = []
    monkeypatch.setenv("LANGSMITH_API_KEY", "x")
    monkeypatch.setattr("llm.tracing.switch_on", lambda: None)
    monkeypatch.setattr("llm.tracing.left_unsent", lambda: waited.append("for LangSmith") or 0)
    monkeypatch.setattr("wardround.commands.run._run", ended)
    CliRunner().invoke(app, ["run", "--tracing", "--out", str(tmp_path / "run")])
    assert waited == ["for LangSmith"]


@pytest.mark.parametrize("options", [[], ["--set", "sequential=false"]])
def test_tracing_is_refused_without_an_account_or_where_references_are_shown(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from wardround.cli import app

    monkeypatch.delenv("LANGSMITH_API_KEY", raising=False)
    if options:
        monkeypatch.setenv("LANGSMITH_API_KEY", "x")
    refused = CliRunner().invoke(app, ["run", "--tracing", "--out", str(tmp_path / "run"), *options])
    assert refused.exit_code == 2
    assert ("sequential = false" if options else "LANGSMITH_API_KEY") in refused.stderr
    assert not (tmp_path / "run").exists()
