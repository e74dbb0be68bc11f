"""Runs in the formats of other tools: read back by those tools where they are installed."""

import json
import os
import resource
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases.dialogue_files import read_dialogues
from scoring.suite import SUITES
from tests.support.browser import WIDE, browser_of_this_machine, page_in
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from tests.support.serving import serving
from wardround import to_dataframe
from wardround.cli import app
from wardround.commands.export import _write_lines
from wardround.config.experiment import ConfigurationError, Data
from wardround.exports.inspect_log import _doctor as doctor_of
from wardround.exports.inspect_log import _model as in_inspect
from wardround.exports.mlflow_runs import _first_and_last as first_and_last
from wardround.exports.mlflow_runs import named
from wardround.store import recorded_run
from wardround.store.manifest import this_program
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace

FIRST, SECOND = ENGLISH
MESSAGES = [{"role": "system", "content": "You are a doctor."}, {"role": "user", "content": "A secret tooth."}]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A case that was scored but in one part, and one that failed."""
    said = {"speaker": "doctor", "text": "Where?"}, {"speaker": "patient", "text": "Here.", "facts": ["tooth", "left"]}
    report = {"symptoms": "s", "examinations": "e", "diagnosis": ["Caries"], "basis": "b", "treatment": ""}
    rejected = {"accepted": False, "reason": "No basis."}
    calls = [
        call("doctor/turn1", messages=MESSAGES, answer={"text": "Where?"}, input_tokens=7, started=10.0),
        call("patient/turn1", "patient", model="offline", answer={"text": "Here."}, started=11.0),
        call("diagnosis/feedback/round1/treatment", "feedback", stage="diagnosis", answer=rejected, started=12.0),
        call("evaluation/director", "mvme_director", stage="evaluation", answer={"level": 4}, started=13.0),
    ]
    results = [
        graded(
            FIRST,
            scores={"symptoms": 2.0, "diagnosis": None},
            unscored={"diagnosis": "no key"},
            answers={"dialogue": said, "report": report},
            models={"doctor": ["openai:m"], "patient": ["offline"]},
        ),
        graded(SECOND, scores={}, termination="unparseable_answer", error="not JSON"),
    ]
    failed = [
        call(
            model="openai:m@http://h/v1",
            answer=None,
            error="unparseable_answer: of 'A secret tooth.'",
            started=20.0,
        )
    ]
    data = Data(case_ids=list(ENGLISH))
    return write_run(tmp_path / "run", results, {(FIRST, 0): calls, (SECOND, 0): failed}, data=data)


def export(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_each_level_of_a_run_is_a_data_frame(run: Path) -> None:
    whole = to_dataframe(run, "runs").loc[0]
    assert (whole["attempted"], whole["scored"], whole["symptoms"], whole["symptoms.n"]) == (2, 1, 2.0, 1)
    assert list(to_dataframe(run)["case_id"]) == [FIRST, SECOND]
    turns = to_dataframe(run, "turns")
    assert turns[["number", "speaker", "text"]].to_numpy().tolist() == [
        [1, "doctor", "Where?"],
        [2, "patient", "Here."],
    ]
    assert turns.loc[1, "facts"] == "tooth\nleft"
    calls = to_dataframe(run, "calls")
    assert (
        len(calls) == 5 and calls.loc[0, "input_tokens"] == 7 and json.loads(calls.loc[0, "answer"])["text"] == "Where?"
    )
    verdicts = to_dataframe(run, "verdicts")
    assert list(verdicts["kind"]) == ["feedback", "score"] and list(verdicts["judge"]) == ["treatment", "mvme_director"]
    feedback = verdicts.loc[0]
    assert not feedback["accepted"] and (feedback["round"], feedback["reason"]) == (1, "No basis.")


@pytest.mark.parametrize("level", ["turns", "calls", "verdicts"])
def test_a_level_without_a_row_has_its_columns_of_their_types(tmp_path: Path, level: Any) -> None:
    frame = to_dataframe(write_run(tmp_path / "run", []), level)
    assert len(frame) == 0 and str(frame["epoch"].dtype) == "Int64"


def test_an_unknown_level_is_refused(run: Path) -> None:
    with pytest.raises(ConfigurationError, match="'words' is not one of runs, cases, turns, calls, verdicts"):
        to_dataframe(run, "words")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "package"),
    [("inspect", "inspect_ai"), ("parquet", "pyarrow"), ("mlflow", "mlflow"), ("otel", "opentelemetry")],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    run: Path, tmp_path: Path, kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    refused = export(kind, run, "-o", tmp_path / "out")
    assert refused.exit_code == 2 and f"pip install 'wardround[{kind}]'" in refused.stderr


@pytest.mark.parametrize("kind", ["inspect", "parquet", "mlflow", "otel"])
def test_what_is_no_run_is_refused(tmp_path: Path, kind: str) -> None:
    refused = export(kind, tmp_path, "-o", tmp_path / "out")
    assert refused.exit_code == 2 and "is not a run directory" in refused.stderr


@pytest.mark.slow
def test_parquet_holds_what_the_data_frames_hold(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs wardround[parquet]")
    import pandas

    assert export("parquet", run, run, "-o", tmp_path / "out").exit_code == 0
    for level in ("runs", "cases", "turns", "calls", "verdicts"):
        read = pandas.read_parquet(tmp_path / "out" / f"{level}.parquet")
        frame = to_dataframe([run, run], level)  # type: ignore[arg-type]
        assert len(read) and list(read) == list(frame)
        assert read.astype("str").equals(frame.astype(read.dtypes).astype("str"))


def test_parquet_reads_the_trace_of_a_case_once(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="needs wardround[parquet]")
    read: list[Path] = []
    monkeypatch.setattr(recorded_run, "read_trace", lambda file: read.append(file) or read_trace(file))
    assert export("parquet", run, "-o", tmp_path / "out").exit_code == 0
    assert len(read) == 2 and len({*read}) == 2


def test_a_full_disk_leaves_the_parquet_files_of_an_earlier_export(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs wardround[parquet]")
    assert export("parquet", run, "-o", tmp_path / "out").exit_code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        refused = export("parquet", run, "-o", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.exit_code == 2
    assert refused.stderr == f"error: {tmp_path / 'out' / 'runs.parquet'}: file too large\n"
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_lines_are_written_as_they_come(tmp_path: Path) -> None:
    class Line(dict[str, int]):
        """A line that can be seen to go."""

    made: list[weakref.ref[Line]] = []

    def lines() -> Iterator[Line]:
        for number in range(6):
            line = Line(number=number)
            made.append(weakref.ref(line))
            assert sum(one() is not None for one in made) <= 3
            yield line

    _write_lines(tmp_path / "lines.jsonl", lines(), "line", "nothing")
    assert (tmp_path / "lines.jsonl").read_text().count("\n") == len(made) == 6


def test_inspect_reads_its_log_with_scores_calls_and_dialogue(run: Path, tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log", reason="needs wardround[inspect]")
    from inspect_ai.analysis import samples_df

    told = export("inspect", run, "-o", tmp_path / "logs")
    assert told.exit_code == 0 and "inspect view --log-dir" in told.stdout
    read = log.read_eval_log(str(tmp_path / "logs" / "run.eval"))
    first, second = read.samples
    assert (read.status, read.results.total_samples, read.results.completed_samples) == ("success", 2, 1)
    means = {score.name: {kind: found.value for kind, found in score.metrics.items()} for score in read.results.scores}
    assert means["symptoms"]["mean"] == 2.0 and "mean" not in means["diagnosis"]
    assert [message.text for message in first.messages] == ["Where?", "Here."] and first.output.completion == "Caries"
    assert first.scores["symptoms"].value == 2.0 and first.scores["diagnosis"].explanation == "no key"
    asked = next(event for event in first.events if event.event == "model")
    assert [message.text for message in asked.input] == ["You are a doctor.", "A secret tooth."]
    assert asked.output.usage.input_tokens == 7 and asked.timestamp.timestamp() == 10.0
    director = next(event for event in first.events if getattr(event, "role", "") == "mvme_director")
    assert director.output.usage is None, "the server reported no tokens"
    assert first.role_usage.keys() == {"doctor", "patient"} and read.stats.role_usage["doctor"].total_tokens == 7
    assert (first.epoch, first.started_at[17:19], first.completed_at[17:19], asked.retries) == (1, "10", "14", 0)
    assert [(event.event, event.working_start) for event in first.events if event.event != "model"] == [
        *(("span_begin", 0.0), ("span_end", 2.0), ("span_begin", 2.0)),
        *(("span_end", 3.0), ("span_begin", 3.0), ("span_end", 4.0)),
    ]
    counted = {score.name: (score.scored_samples, score.unscored_samples) for score in read.results.scores}
    assert counted["symptoms"] == (1, 0) and counted["diagnosis"] == (0, 1)
    assert second.error.message == "unparseable_answer: not JSON" and not second.scores
    assert read.eval.model == "openai/m" and {*read.stats.model_usage} == {"openai/m", "none/offline"}
    made_by = json.loads((run / "manifest.json").read_text("utf-8"))
    assert read.eval.packages["wardround"] == made_by["versions"]["wardround"]
    assert read.eval.metadata["prompts"] == made_by["prompts"]
    assert first.metadata["provenance"]["licence"] == "CC0-1.0"
    log.write_eval_log(read.model_copy(update={"samples": [first]}), str(tmp_path / "run.json"))
    ((again,), problems) = read_dialogues(tmp_path / "run.json")
    said = [(message.role, message.content) for message in again.messages]
    assert (again.id, said, problems) == (FIRST, [("assistant", "Where?"), ("user", "Here.")], [])
    assert list(samples_df(tmp_path / "logs")["score_symptoms"].dropna()) == [2.0]
    assert export("inspect", run, "-o", tmp_path / "twice").exit_code == 0
    twice = log.read_eval_log(str(tmp_path / "twice" / "run.eval"))
    assert twice.model_dump(exclude={"location"}) == read.model_dump(exclude={"location"}), "each part has its id"


def test_a_model_is_called_in_inspects_logs_as_inspect_calls_it(tmp_path: Path) -> None:
    """With `openai:gpt-4o` and `offline`, `inspect score` refused every log."""
    blocks = {"own": {"spec": "google_genai:gemini", "base_url": "https://h/v1"}}
    models = {"default": "offline", "doctor": "own"}
    path = write_run(tmp_path / "run", [graded(FIRST, models={"doctor": ["own"]})], model=blocks, models=models)
    [run] = recorded_run.find_runs([path])
    assert doctor_of(run) == "own" and run.spec_of("own").base_url == "https://h/v1"
    named = {name: in_inspect(run, name) for name in ("own", "openai:a@20240620@http://h/v1", "human")}
    assert [*named.values()] == ["google/gemini", "openai/a@20240620", "none/human"]


def test_no_run_and_no_case_is_lost_in_inspects_logs_for_its_name(tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log", reason="needs wardround[inspect]")
    names = ["a b", "a_b", "A|b", "a_b-2"]
    runs = [write_run(tmp_path / name, [graded(case) for case in ("x", "nul\0x", name)]) for name in names]
    assert export("inspect", *runs, "-o", tmp_path / "logs").exit_code == 0
    files = sorted((tmp_path / "logs").iterdir())
    assert len({file.name.casefold() for file in files}) == len(names)
    read = [{sample.id for sample in log.read_eval_log(str(file)).samples} for file in files]
    assert all(ids > {"x", "nul␀x"} for ids in read) and set.union(*read) > {*names}
    assert log.read_eval_log(str(files[0]), header_only=True).status == "started", "most cases have not ended"


@pytest.mark.slow
def test_inspects_own_viewer_shows_the_log_in_a_browser(run: Path, tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log", reason="needs wardround[inspect]")
    assert export("inspect", run, "-o", tmp_path / "logs").exit_code == 0
    with browser_of_this_machine() as browser, page_in(browser, WIDE) as page:
        log.bundle_log_dir(str(tmp_path / "logs"), str(tmp_path / "viewer"))
        faults: list[object] = []
        page.on("pageerror", lambda fault: faults.append(fault))
        files = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "viewer"))
        with serving(ThreadingHTTPServer(("127.0.0.1", 0), files)) as server:
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.get_by_text("run.eval").first.click()  # in the list of logs
            page.get_by_text(FIRST).first.wait_for()
    assert not faults


def test_mlflow_has_each_run_once_with_settings_and_means(run: Path, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs wardround[mlflow]")
    for _ in range(2):
        assert export("mlflow", run, "-o", tmp_path / "mlflow.db").exit_code == 0
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    experiments = [one.experiment_id for one in client.search_experiments()]
    [logged] = client.search_runs(experiments)
    assert logged.data.metrics["symptoms"] == 2.0 and logged.data.metrics["failed"] == 1
    assert logged.data.params["graph"] == "dispute_resolution" and logged.info.status == "FINISHED"
    assert (logged.info.start_time, logged.info.end_time) == (10_000, 21_000), "not those of copied files"


def test_a_run_without_calls_is_as_old_as_its_manifest_in_mlflow(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [])
    os.utime(path / "manifest.json", (5, 5))
    [run] = recorded_run.find_runs([path])
    assert first_and_last(run) == (5000, 5000)


def test_the_scores_of_every_suite_have_names_that_mlflow_takes() -> None:
    """`Avg. (gathering)` of Med-PMC was refused, and with it the run."""
    assert named("Avg. (gathering)") == "Avg. _gathering_" and named("a/b.n: c-d") == "a/b.n: c-d"
    names = [name for suite in SUITES.values() for name in suite.titles]
    assert len({*map(named, names)}) == len({*names})
    validation = pytest.importorskip("mlflow.utils.validation", reason="needs wardround[mlflow]")
    for name in names:
        validation._validate_metric_name(named(name))


def spans_of(file: Path) -> list[dict[str, Any]]:
    """Each span with its attributes by name, and the name of its parent."""
    found = []
    for line in file.read_text("utf-8").splitlines():
        for each in json.loads(line)["resourceSpans"]:
            spans = [span for scope in each["scopeSpans"] for span in scope["spans"]]
            names = {span["spanId"]: span["name"] for span in spans}
            for span in spans:
                told = {one["key"]: next(iter(one["value"].values())) for one in span.get("attributes", [])}
                found.append({**span, "told": told, "parent": names.get(span.get("parentSpanId", ""))})
    return found


def test_spans_tell_who_was_asked_when_and_by_whom_and_words_only_when_asked_for(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    assert export("otel", run, "-o", tmp_path / "a.jsonl").stdout == f"2 traces: {tmp_path / 'a.jsonl'}\n"
    spans = spans_of(tmp_path / "a.jsonl")
    case = next(span for span in spans if span["parent"] is None)
    assert case["told"]["wardround.case_id"] == FIRST and len(case["traceId"]) == 32
    assert case["events"][0]["name"] == "gen_ai.evaluation.result"
    asked = next(span for span in spans if span["name"] == "chat m")
    assert asked["parent"] == "history_taking" and asked["told"]["gen_ai.usage.input_tokens"] == "7"
    assert asked["told"]["gen_ai.provider.name"] == "openai" and asked["told"]["gen_ai.agent.name"] == "doctor"
    assert (asked["startTimeUnixNano"], asked["endTimeUnixNano"]) == ("10000000000", "11000000000")
    uncounted = next(span["told"] for span in spans if span["told"].get("wardround.call") == "evaluation/director")
    assert not any(name.startswith("gen_ai.usage") for name in uncounted), "the server reported no tokens"
    assert any(span["name"] == "invoke_agent patient" for span in spans)  # nobody's model was asked
    assert {span["kind"] for span in spans} == {1, 3} and {one["status"].get("code") for one in spans} == {None, 2}
    assert any(span["told"].get("error.type") == "unparseable_answer" for span in spans)
    without = (tmp_path / "a.jsonl").read_text("utf-8")
    assert "secret" not in without and "not JSON" not in without  # an error may quote what was said
    export("otel", run, "-o", tmp_path / "b.jsonl", "--content")
    assert "secret" in (tmp_path / "b.jsonl").read_text("utf-8")
    failed = next(one["told"] for one in spans_of(tmp_path / "b.jsonl") if "error.type" in one["told"])
    assert "gen_ai.output.messages" not in failed, "there was no answer (the word null)"
    assert [one["spanId"] for one in spans_of(tmp_path / "b.jsonl")] == [one["spanId"] for one in spans]


def test_spans_have_scores_ends_costs_and_words_in_the_forms_of_the_conventions(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    asked = [{"role": "user", "content": "Où ?"}, {"role": "user", "image": "tooth.png"}]
    calls = [
        call(messages=asked, answer="Là.", input_tokens=7, cost=0.5),
        call("patient/turn1", "patient", model="offline", messages=None, answer={"text": "Là."}),
    ]
    results = [
        graded(FIRST, scores={"symptoms": 2.0, "diagnosis": None}),
        graded(SECOND, scores={}, termination="unparseable_answer", error="not JSON"),
    ]
    run = write_run(tmp_path / "run", results, {(FIRST, 0): calls})
    export("otel", run, "-o", tmp_path / "a.jsonl", "--content")
    spans = spans_of(tmp_path / "a.jsonl")
    case, failed = (span for span in spans if span["parent"] is None)
    (event,) = case["events"]
    evaluation = {one["key"].removeprefix("gen_ai.evaluation."): one["value"] for one in event["attributes"]}
    assert evaluation == {"name": {"stringValue": "symptoms"}, "score.value": {"doubleValue": 2.0}}
    assert [one["told"]["wardround.termination"] for one in (case, failed)] == ["completed", "unparseable_answer"]
    assert [one["status"] for one in (case, failed)] == [{}, {"code": 2, "message": "not JSON"}]
    assert [span["told"] for span in spans if span["name"] == "history_taking"] == [
        {"wardround.stage": "history_taking"}
    ]
    doctor, patient = (span["told"] for span in spans if span["parent"] == "history_taking")
    assert [one["gen_ai.operation.name"] for one in (doctor, patient)] == ["chat", "invoke_agent"]
    assert patient["gen_ai.provider.name"] == "wardround" and doctor["wardround.cost"] == 0.5
    said = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in ("Où ?", "[picture tooth.png]")]
    assert [json.loads(one["gen_ai.input.messages"]) for one in (doctor, patient)] == [said, []]
    for one, text in ((doctor, "Là."), (patient, '{"text": "Là."}')):
        answer = {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}
        assert one["gen_ai.output.messages"] == json.dumps([answer], ensure_ascii=False)


def test_spans_that_are_written_twice_are_the_same_to_the_times_of_the_scores(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for file in files:
        export("otel", run, "-o", file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_spans_name_provider_and_model_behind_a_block_and_the_version_that_made_the_run(tmp_path: Path) -> None:
    """A block's name stood as the provider, of a model without a name."""
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    block = {"model": {"own": {"spec": "mistralai:small@2409"}}, "models": {"doctor": "own"}}
    run = write_run(tmp_path / "run", [graded(FIRST)], {(FIRST, 0): [call(model="own")]}, **block)
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["versions"]["wardround"] = "0.0.7"
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert export("otel", run, "-o", tmp_path / "a.jsonl").exit_code == 0
    [asked] = [span for span in spans_of(tmp_path / "a.jsonl") if span["name"].startswith("chat")]
    told = asked["told"]
    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == ("mistral_ai", "small@2409")
    resource = json.loads((tmp_path / "a.jsonl").read_text("utf-8"))["resourceSpans"][0]["resource"]
    assert {"key": "service.version", "value": {"stringValue": "0.0.7"}} in resource["attributes"]


def test_spans_of_a_case_that_another_program_ran_name_its_version(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    directory = RunDirectory(write_run(tmp_path / "run", [graded(FIRST)]))
    manifest = json.loads((directory.path / "manifest.json").read_text("utf-8"))
    manifest["versions"]["wardround"] = directory.begun_by = "0.0.7"
    (directory.path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    directory.add(graded("later"))
    export("otel", directory.path, "-o", tmp_path / "a.jsonl")
    spans = [json.loads(line)["resourceSpans"][0] for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    told = [{one["key"]: one["value"].get("stringValue") for one in each["resource"]["attributes"]} for each in spans]
    assert {f"wardround {each['service.version']}" for each in told} == {"wardround 0.0.7", this_program()}


@pytest.fixture
def collector(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that keeps the paths of what it gets, and answers with a status."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(request.param)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("collector", [200], indirect=True)
def test_spans_are_sent_to_the_collector_that_is_named(run: Path, collector: tuple[str, list[str]]) -> None:
    pytest.importorskip("opentelemetry.exporter", reason="needs wardround[otel]")
    address, paths = collector
    sent = export("otel", run, "-o", address.replace("//", "//me:hunter2@"))
    assert sent.exit_code == 0 and "hunter2" not in sent.output + sent.stderr
    assert sent.stdout.startswith("2 traces: ")
    export("otel", run, "-o", f"{address}/own")
    assert paths == ["/v1/traces", "/v1/traces", "/own", "/own"]


@pytest.mark.parametrize(
    "kind, module, said",
    [
        ("otel", "opentelemetry.exporter", "does not accept the spans (0 cases were sent)"),
        ("mlflow", "mlflow", "MLflow cannot write there"),
    ],
)
@pytest.mark.parametrize("collector", [307, 400], indirect=True)
def test_a_server_that_refuses_or_sends_elsewhere_is_an_error(
    kind: str, module: str, said: str, run: Path, collector: tuple[str, list[str]]
) -> None:
    """MLflow's client followed every redirect, with what it was to log."""
    pytest.importorskip(module, reason=f"needs wardround[{kind}]")
    address, paths = collector
    refused = export(kind, run, "-o", address)
    assert refused.exit_code == 2 and said in refused.stderr
    assert "/elsewhere" not in paths
