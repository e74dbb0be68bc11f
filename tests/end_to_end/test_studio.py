"""`wardround dev`: what LangGraph Studio finds when it connects, asked through the SDK over HTTP."""

import importlib.util
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import load_cases
from graphs.catalogue import served as served_graphs
from graphs.contexts import ClinicalContext
from llm import ModelSettings
from tests.support.studio import ROOT, Server, serving
from wardround.cli import app
from wardround.commands.dev import served
from wardround.serving.allowed import STUDIO

pytestmark = pytest.mark.slow

pytest.importorskip("langgraph_api", reason="the studio extra is not installed")
sdk = pytest.importorskip("langgraph_sdk", reason="the studio extra is not installed")

INTERNALS = {"epoch", "scope", "trace_file", "run", "position"}
COURSE = ["referral", "history_taking", "examination", "diagnosis", "treatment"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Any:
    return sdk.get_sync_client(url=server.url)


@pytest.fixture(scope="module")
def workflow(client: Any) -> str:
    (assistant,) = client.assistants.search(graph_id="clinical_workflow")
    return str(assistant["assistant_id"])


@pytest.fixture
def thread(client: Any) -> str:
    return str(client.threads.create()["thread_id"])


def stream(client: Any, thread: str, **options: Any) -> list[Any]:
    return list(client.runs.stream(thread, "clinical_workflow", stream_mode="updates", **options))


def stages_of(parts: list[Any]) -> list[str]:
    return [stage for part in parts if part.event == "updates" for stage in part.data]


def error_of(parts: list[Any]) -> str:
    (data,) = [part.data for part in parts if part.event == "error"]
    return f"{data['error']}: {data['message']}"


def test_every_graph_that_is_to_be_served_is_and_no_other(client: Any) -> None:
    assert {assistant["graph_id"] for assistant in client.assistants.search(limit=100)} == set(served_graphs())


def test_the_server_of_a_checkout_is_told_the_same_as_ours() -> None:
    """`langgraph.json` is for who starts LangGraph's own server; `wardround dev` needs none."""
    assert json.loads((ROOT / "langgraph.json").read_text("utf-8")) == served([STUDIO])


def test_the_context_is_served_as_a_form(client: Any, workflow: str) -> None:
    fields = client.assistants.get_schemas(workflow)["context_schema"]["properties"]
    assert fields.keys() == ClinicalContext.model_fields.keys() - INTERNALS
    defaults = ClinicalContext().model_dump(mode="json")
    for name in fields:
        field = ClinicalContext.model_fields[name]
        assert fields[name].get("description") == field.description, name
        assert fields[name]["default"] == defaults[name], name
    assert fields["feedback"]["enum"] == ["downstream", "same_stage", "off"]
    assert fields["orders"]["enum"] == ["group", "dialogue"]
    assert fields["grow"]["enum"] == ["off", "in_order", "as_finished"]
    assert fields["retrieval"]["type"] == "boolean"
    assert (fields["general_agents"]["minimum"], fields["general_agents"]["maximum"]) == (1, 9)
    assert fields["models"]["default"] == {"default": "offline"}


def test_every_switch_of_the_workflow_is_described_and_placed_at_nodes_that_exist(client: Any, workflow: str) -> None:
    assert {node["id"] for node in client.assistants.get_graph(workflow)["nodes"]} >= set(COURSE)
    served = client.assistants.search(limit=100)
    nodes = {node["id"] for one in served for node in client.assistants.get_graph(one["assistant_id"])["nodes"]}
    fields = client.assistants.get_schemas(workflow)["context_schema"]["properties"]
    for name in set(fields) - set(ModelSettings.model_fields):
        assert fields[name]["description"], name
        assert fields[name]["langgraph_nodes"], name
        assert nodes.issuperset(fields[name]["langgraph_nodes"]), name


def test_the_input_is_a_case_or_the_id_of_one(client: Any, workflow: str) -> None:
    schema = client.assistants.get_schemas(workflow)["input_schema"]
    assert list(schema["properties"]) == ["case_id", "case"]
    assert all(field["description"] for field in schema["properties"].values())
    assert not schema.get("required")


def test_a_run_streams_each_stage_and_ends_with_diagnosis_and_treatment(client: Any, thread: str) -> None:
    parts = stream(client, thread, input={"case_id": "surgery-03"})
    assert [part.data for part in parts if part.event == "error"] == []
    assert stages_of(parts) == ["admit", "refine", *COURSE, "follow_up"]
    state = client.threads.get_state(thread)
    assert state["next"] == []
    values = state["values"]
    assert values["case_id"] == "surgery-03"
    assert values["diagnosis"]["names"]
    assert values["treatment"]["items"]
    assert {record["ended"] for record in values["decisions"]} <= {"agreed", "exhausted"}
    assert len(values["trace"]["calls"]) > 50


def test_the_form_switches_things_off(client: Any, thread: str) -> None:
    context = {"retrieval": False, "feedback": "off", "general_agents": 1, "interactive": False}
    parts = stream(client, thread, input={"case_id": "surgery-03"}, context=context)
    assert stages_of(parts) == ["admit", *COURSE, "follow_up"]
    values = client.threads.get_state(thread)["values"]
    assert {record["ended"] for record in values["decisions"]} == {"not_judged"}
    assert {call["role"] for call in values["trace"]["calls"]}.isdisjoint({"feedback", "refiner", "patient"})


def test_a_whole_case_is_taken_as_json_with_its_pictures(client: Any, thread: str) -> None:
    case = next(case for case in load_cases() if case.examinations.images)
    parts = stream(client, thread, input={"case": case.model_dump(mode="json")})
    assert stages_of(parts)[-1] == "follow_up", parts[-1]
    assert client.threads.get_state(thread)["values"]["case_id"] == case.id


def test_a_person_can_take_a_role(client: Any, thread: str) -> None:
    context = {"models": {"default": "offline", "patient": "human"}, "max_turns": 2, "retrieval": False}
    options = {"context": context, "stream_mode": "updates"}
    list(client.runs.stream(thread, "clinical_workflow", input={"case_id": "surgery-03"}, **options))
    (task,) = client.threads.get_state(thread)["tasks"]
    (question,) = task["interrupts"]
    assert question["value"]["role"] == "patient"
    (field,) = question["value"]["schema"]["required"]
    said = "It does not hurt at all, it is only there."
    wrong = {"words": said}
    list(client.runs.stream(thread, "clinical_workflow", command={"resume": wrong}, **options))
    (task,) = client.threads.get_state(thread)["tasks"]
    (again,) = task["interrupts"]
    assert field in again["value"]["wrong"] and again["value"]["messages"] == question["value"]["messages"]
    list(client.runs.stream(thread, "clinical_workflow", command={"resume": said}, **options))
    values = client.threads.get_state(thread)["values"]
    assert values["diagnosis"]["names"]
    assert said in [turn["text"] for turn in values["dialogue"]]


def test_an_unknown_case_id_is_answered_with_close_ones(client: Any, thread: str) -> None:
    error = error_of(stream(client, thread, input={"case_id": "surgery-3"}))
    assert "there is no case 'surgery-3' in builtin" in error
    assert "surgery-03" in error


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"feedback": "upstream"}, "feedback"),
        ({"models": {"patients": "offline"}}, "patient"),
        ({"orders": "dialogue", "interactive": False}, "interactive = true"),
    ],
)
def test_a_wrong_context_is_an_error_that_names_the_field(
    client: Any, thread: str, context: dict[str, Any], said: str
) -> None:
    assert said in error_of(stream(client, thread, input={"case_id": "surgery-03"}, context=context))


def test_nothing_blocked_the_event_loop_and_nothing_left_the_machine(client: Any, server: Server, thread: str) -> None:
    """Blocking calls are errors on this server; here they are looked for in all that the tests above left behind."""
    chinese = next(case.id for case in load_cases() if case.language == "zh")
    parts = stream(client, thread, input={"case_id": chinese}, context={"max_backtracks": 1, "orders": "dialogue"})
    assert "review" in stages_of(parts)
    log = server.log.read_text("utf-8", "replace")
    assert "BlockingError" not in log
    assert "blocking call" not in log.lower()
    assert "skipping metadata loop" in log
    assert set(server.contacts.read_text("utf-8").splitlines()) == {"watching"}


def test_only_the_loopback_interface_is_served(server: Server) -> None:
    assert server.is_listening("127.0.0.1")
    assert not server.is_listening("127.0.0.2")  # a server of all interfaces answers here too


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_a_signal_stops_the_server(tmp_path: Path, with_signal: signal.Signals) -> None:
    with serving(tmp_path) as running:
        running.stop(with_signal)
        assert not running.is_listening()


def test_without_the_studio_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "langgraph_api" else find_spec(name, *rest)
    )
    refused = CliRunner().invoke(app, ["dev"])
    assert refused.exit_code == 2
    assert refused.stderr == "error: the development server is not installed: pip install 'wardround[studio]'\n"


def test_pickled_runs_that_somebody_else_has_put_here_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, command: started.append(command))
    monkeypatch.setattr("os.environ", {**os.environ, "WARDROUND_CACHE": str(tmp_path / "cache")})
    for place in ("downloaded", "own"):
        (tmp_path / place / ".langgraph_api").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / place)
        if place == "own":
            CliRunner().invoke(app, ["dev", "--port", "0"])
        Path(".langgraph_api", "store.pckl").write_bytes(b"cos\nsystem\n")
        answer = CliRunner().invoke(app, ["dev", "--port", "0"])
        assert (answer.exit_code, len(started)) == ((2, 0) if place == "downloaded" else (0, 2))
        assert (".langgraph_api/ holds runs" in answer.stderr) is (place == "downloaded")


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = CliRunner().invoke(app, ["dev", "--port", str(port)])
    assert refused.exit_code == 2
    assert f"port {port} cannot be used" in refused.stderr
    assert "--port" in refused.stderr
