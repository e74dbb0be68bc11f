"""`wardround dev`: what LangGraph Studio finds when it connects, asked through the SDK over HTTP."""

import importlib.util
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import load_cases
from graphs.catalogue import served as served_graphs
from graphs.contexts import ClinicalContext
from llm import ModelSettings
from tests.support.fake_server import FakeServer
from tests.support.studio import ROOT, Server, serving
from wardround.cli import app
from wardround.commands.dev import served
from wardround.serving.allowed import STUDIO

pytestmark = pytest.mark.slow

pytest.importorskip("langgraph_api", reason="the studio extra is not installed")
sdk = pytest.importorskip("langgraph_sdk", reason="the studio extra is not installed")

INTERNALS = {"epoch", "scope", "trace_file", "run", "position"}
OF_PLUG_INS = {"patient_terse", "clinical_workflow_second_opinion"}
COURSE = ["referral", "history_taking", "examination", "diagnosis", "treatment"]


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with FakeServer() as answering:
        yield answering


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: FakeServer) -> Iterator[Server]:
    study = tmp_path_factory.mktemp("study") / "study.toml"
    block = f'spec = "openai:small@{model.base_url}"\napi_key_env = "STUDY_KEY"\ntop_p = 0.5\n'
    study.write_text(f'[models]\npatient = "lively"\n[model.lively]\n{block}', "utf-8")
    folder = tmp_path_factory.mktemp("studio")
    plugins = [f"--plugin={ROOT / 'examples' / name}" for name in ("own_patient.py", "own_strategy.py")]
    with serving(folder, "--experiment", str(study), *plugins, setting={"STUDY_KEY": "sk-of-the-study"}) as running:
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


def test_every_graph_that_is_to_be_served_is_and_no_other_each_with_a_description(client: Any) -> None:
    found = {one["graph_id"]: one["description"] for one in client.assistants.search(limit=100)}
    assert {found.pop(name)[:12] for name in OF_PLUG_INS} == {"The clinical", "The patient "}
    assert found == {name: graph.description for name, graph in served_graphs().items()}
    assert {"patient_saps", "patient_medpmc", "stage_diagnosis"} <= found.keys()
    assert len(set(found.values())) == len(found) and all(len(text) > 30 for text in found.values())


def form_of(client: Any, graph: str) -> dict[str, Any]:
    (assistant,) = client.assistants.search(graph_id=graph)
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    return dict(schemas["context_schema"]["properties"])


def test_a_form_has_the_settings_of_its_own_graph(client: Any) -> None:
    saps, stage = form_of(client, "patient_saps"), form_of(client, "stage_diagnosis")
    assert saps["patient"]["default"] == "saps" and "tracker" in saps
    assert not saps.keys() & {"actor", "max_turns", "general_agents", "retrieval"}
    assert "general_agents" in stage and not stage.keys() & {"patient", "max_turns", "strategy", "sequential"}


def test_a_patient_and_a_strategy_of_plug_ins_are_chosen_run_and_when_misspelt_refused_by_name(client: Any) -> None:
    for graph in ("consultation", "clinical_workflow"):
        assert form_of(client, graph)["patient"]["enum"][-1] == "terse"
    assert "terse_patient" in form_of(client, "patient_terse")["models"]["properties"]
    assert "colleague" in form_of(client, "clinical_workflow_second_opinion")["models"]["properties"]
    short = {"patient": "terse", "retrieval": False, "max_turns": 2}

    def run(graph: str, **context: Any) -> Any:
        thread, case = str(client.threads.create()["thread_id"]), {"case_id": "surgery-01"}
        return client.runs.wait(thread, graph, input=case, context={**short, **context}, raise_error=True)

    told = run("clinical_workflow_second_opinion")
    assert told["dialogue"][1]["text"].startswith("I have had") and told["treatment"]
    for graph, wrong, said in (
        ("consultation", {"patient": "ters"}, "unknown patient 'ters': did you mean 'terse'"),
        ("clinical_workflow", {"strategy": "second_opinon"}, "did you mean 'second_opinion'"),
        ("clinical_workflow", {"strategy": "second_opinion"}, "in Studio the graph 'clinical_workflow_second_opinion'"),
        ("consultation", {"models": {"ters_patient": "lively"}}, "did you mean 'terse_patient'"),
    ):
        with pytest.raises(Exception, match=said):
            run(graph, **wrong)


def test_models_are_chosen_by_role_from_what_the_server_was_started_with(
    client: Any, thread: str, model: FakeServer
) -> None:
    by_role = form_of(client, "patient_medpmc")["models"]["properties"]
    assert by_role.keys() == {"default", "state_tracker", "response_generator", "technician", "actor", "memory_bank"}
    assert all(field["enum"] == ["offline", "human", "lively"] for field in by_role.values())
    said = {"case_id": "surgery-03", "words": "Where does it hurt?"}
    context = {"models": {"response_generator": "lively"}}
    client.runs.wait(thread, "patient_medpmc", input=said, context=context)
    (asked, *_) = model.requests
    assert asked.headers["authorization"] == "Bearer sk-of-the-study" and asked.body["top_p"] == 0.5
    other = {"models": {"default": "lively"}, "model": {"lively": {"spec": "openai:other@http://127.0.0.1:9/v1"}}}
    with pytest.raises(Exception, match="does not allow"):
        client.runs.wait(thread, "patient_medpmc", input=said, context=other, raise_error=True)


def test_runs_of_several_threads_are_played_side_by_side(client: Any, model: FakeServer) -> None:
    said = {"case_id": "surgery-03", "words": "Where does it hurt?"}
    context = {"models": {"response_generator": "lively"}}
    threads = [str(client.threads.create()["thread_id"]) for _ in range(2)]
    model.hold_answers(0)
    begun = [client.runs.create(one, "patient_medpmc", input=said, context=context) for one in threads]
    deadline = time.monotonic() + 60
    while model.in_flight < 2:
        assert time.monotonic() < deadline, "the second run waits for the first"
        time.sleep(0.01)
    model.release()
    for one, run in zip(threads, begun, strict=True):
        client.runs.join(one, run["run_id"])


def test_a_patient_by_itself_keeps_the_dialogue_of_its_thread(client: Any, thread: str) -> None:
    client.runs.wait(thread, "patient_saps", input={"case_id": "surgery-01", "words": "What brings you here?"})
    values = client.runs.wait(thread, "patient_saps", input={"words": "Please have an ultrasound done."})
    assert [turn["speaker"] for turn in values["dialogue"]] == ["doctor", "patient"] * 2
    assert "gallbladder" in values["dialogue"][-1]["text"]
    assert values["dialogue"][-1]["action"] is None and values["dialogue"][-2]["action"] == "Effective Advice"
    with pytest.raises(Exception, match="the input needs `words`"):
        client.runs.wait(thread, "patient_saps", input={"words": " "}, raise_error=True)


SHORT = {
    "retrieval": False, "general_agents": 1, "discussion_rounds": 1, "feedback": "same_stage", "max_turns": 2,
    "interns": 2, "max_rounds": 1, "talk_turns": 0,
}  # fmt: skip


@pytest.mark.parametrize("graph", served_graphs())
def test_a_course_can_be_forked_at_every_checkpoint_and_goes_on_to_its_end(
    client: Any, thread: str, graph: str
) -> None:
    given: dict[str, Any] = {"case_id": "surgery-03"}
    if graph == "clini_eval":
        given = {"dialogue": client.runs.wait(thread, "reconstruction", input=given)["dialogue"]}
        thread = str(client.threads.create()["thread_id"])
    if graph.startswith("patient_"):
        given |= {"words": "Please have an X-ray done."}
    form = form_of(client, graph)
    context = {name: value for name, value in SHORT.items() if name in form}
    whole = client.runs.wait(thread, graph, input=given, context=context, raise_error=True)
    history = client.threads.get_history(thread, limit=100)
    begun = [state for state in history if state["next"] not in ([], ["__start__"])]
    assert len(begun) >= 2
    chosen = begun if graph == "clinical_workflow" else [begun[len(begun) // 2]]
    for state in chosen:
        edited = {name: value for name, value in state["values"].items() if name != "trace"}
        place = client.threads.update_state(thread, edited, checkpoint=state["checkpoint"])["checkpoint"]
        again = client.runs.wait(thread, graph, checkpoint=place, context=context, raise_error=True)
        assert again.keys() == whole.keys(), state["next"]
        assert client.threads.get_state(thread)["next"] == []
        for name in whole.keys() - {"trace"}:
            assert again[name] == whole[name], (name, state["next"])


def test_what_is_edited_is_what_the_course_goes_on_from_and_nonsense_is_refused(client: Any, thread: str) -> None:
    context = {**{name: SHORT[name] for name in ("retrieval", "general_agents", "feedback")}, "interactive": False}
    client.runs.wait(thread, "clinical_workflow", input={"case_id": "surgery-03"}, context=context)
    (state,) = [one for one in client.threads.get_history(thread, limit=100) if one["next"] == ["treatment"]]
    told = {**state["values"]["diagnosis"], "names": ["Fracture of the wrist"]}
    fork = client.threads.update_state(thread, {"diagnosis": told}, checkpoint=state["checkpoint"])["checkpoint"]
    again = client.runs.wait(thread, "clinical_workflow", checkpoint=fork, context=context, raise_error=True)
    assert again["follow_up"]["course"]["diagnosis"] == ["Fracture of the wrist"]
    with pytest.raises(Exception, match="Input should be a valid array"):
        client.threads.update_state(thread, {"diagnosis": {"names": 3}}, checkpoint=state["checkpoint"])


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


def test_an_input_that_the_graph_does_not_start_from_is_refused_in_a_sentence(client: Any, thread: str) -> None:
    told = error_of(stream(client, thread, input={"case_ID": "surgery-03"}))
    assert told == (
        "NotStartedError: input: 'case_ID' is not a field of it; 'Clinical workflow' starts from case_id, case"
    )


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


@pytest.mark.parametrize("graph", ["consultation", "patient_saps"])
def test_a_form_that_is_sent_as_it_is_shown_plays_as_an_empty_one(client: Any, graph: str) -> None:
    given = {"case_id": "surgery-03", **({"words": "Where does it hurt?"} if graph == "patient_saps" else {})}
    shown = {name: field["default"] for name, field in form_of(client, graph).items() if "default" in field}
    sent, empty = (client.runs.wait(None, graph, input=given, context=one, raise_error=True) for one in (shown, {}))
    assert "patient" in shown and sent["dialogue"] == empty["dialogue"] != []


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


def test_an_answer_without_a_context_goes_on_with_the_settings_of_the_run_that_asked(client: Any, thread: str) -> None:
    context = {"models": {"default": "offline", "doctor": "human"}, "max_turns": 3}
    client.runs.wait(thread, "consultation", input={"case_id": "surgery-03"}, context=context, raise_error=True)
    for _ in range(2):  # the second finds them in what the first has left
        said = {"resume": "Where does it hurt?"}
        client.runs.wait(thread, "consultation", command=said, raise_error=True)
        (task,) = client.threads.get_state(thread)["tasks"]
        assert task["interrupts"][0]["value"]["role"] == "doctor"


def test_an_earlier_version_of_an_assistant_runs_with_its_own_settings(client: Any) -> None:
    made = client.assistants.create("consultation", context={"max_turns": 1, "retrieval": False})["assistant_id"]
    client.assistants.update(made, context={"max_turns": 3})
    for version, turns in ((2, 3), (1, 1), (2, 3)):
        client.assistants.set_latest(made, version)
        said = client.runs.wait(None, made, input={"case_id": "surgery-03"}, raise_error=True)["dialogue"]
        assert [turn["speaker"] for turn in said].count("doctor") == turns, version
    client.assistants.delete(made)


def test_a_copy_of_a_thread_goes_on_where_the_thread_waits(client: Any, thread: str) -> None:
    context = {"models": {"default": "offline", "doctor": "human"}, "max_turns": 3, "patient": "saps"}
    client.runs.wait(thread, "consultation", input={"case_id": "surgery-03"}, context=context, raise_error=True)
    copied = client.threads.copy(thread)["thread_id"]
    for one in (copied, thread):
        asked = client.runs.wait(one, "consultation", command={"resume": "Where does it hurt?"}, raise_error=True)
        assert "Where does it hurt?" in asked["__interrupt__"][0]["value"]["messages"][-1]["content"]


def test_a_second_case_on_a_thread_is_played_as_on_a_thread_of_its_own(client: Any, thread: str) -> None:
    other = str(client.threads.create()["thread_id"])
    context = {"max_turns": 2, "retrieval": False}
    for place, case in ((thread, "surgery-01"), (thread, "surgery-03"), (other, "surgery-03")):
        client.runs.wait(place, "consultation", input={"case_id": case}, context=context, raise_error=True)
    second, alone = [client.threads.get_state(one)["values"] for one in (thread, other)]
    for name in alone.keys() - {"trace"}:
        assert second[name] == alone[name], name
    kept = {state["values"].get("case_id") for state in client.threads.get_history(thread, limit=100)}
    assert kept >= {"surgery-01", "surgery-03"}


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
        (
            {"retreival": False},
            "NotStartedError: context: 'retreival' is not a setting of the graph 'clinica",
        ),
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


def test_ctrl_c_stops_the_server(server: Server) -> None:  # the last that asks it
    server.stop(signal.SIGINT)
    assert not server.is_listening()


def test_without_the_studio_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "langgraph_api" else find_spec(name, *rest)
    )
    refused = CliRunner().invoke(app, ["dev"])
    assert refused.exit_code == 2
    assert refused.stderr == "error: the development server is not installed; run: pip install 'wardround[studio]'\n"


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
        assert (".langgraph_api/ holds pickled runs" in answer.stderr) is (place == "downloaded")


@pytest.mark.parametrize("text", [None, "[models]\ndefualt = 'offline'\n"])
def test_an_experiment_file_that_cannot_be_used_is_refused_before_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr("os.execv", lambda *_: pytest.fail("the server was started"))
    monkeypatch.setattr("os.environ", dict(os.environ))
    if text:
        (tmp_path / "study.toml").write_text(text, "utf-8")
    answer = CliRunner().invoke(app, ["dev", "--port", "0", "--experiment", str(tmp_path / "study.toml")])
    assert answer.exit_code == 2 and "study.toml" in answer.stderr and "Traceback" not in answer.output


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = CliRunner().invoke(app, ["dev", "--port", str(port)])
    assert refused.exit_code == 2
    assert f"port {port}: address already in use" in refused.stderr
    assert "--port" in refused.stderr
