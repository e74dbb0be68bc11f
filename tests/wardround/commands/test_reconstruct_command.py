"""``wardround reconstruct``: what it writes, what it refuses, and how it goes on."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cases import note_files
from cases.dialogue_files import read_dialogues
from cases.dialogues import Dialogue
from cases.importers.source import Source
from cases.whole_files import replacing
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.cli import app
from wardround.config import selection
from wardround.store import dialogue_files
from wardround.store.manifest import recorded_manifest, write_manifest

NOTES = [
    {"id": "a", "note": "Chief complaint: Cough for 3 weeks.\nDiagnosis: Bronchitis.", "department": "Surgery"},
    {"id": "b/ü", "note": "主诉：头痛2天。\n诊断：偏头痛。"},
    {"id": "c", "note": "A 40-year-old man has had fever for 2 days. He denies cough."},
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["reconstruct", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(note) + "\n" for note in NOTES), "utf-8")
    return path


def failures(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


@pytest.mark.slow
def test_dialogues_and_the_data_sheet_are_written_and_printed(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "dialogs.jsonl"
    result = run(source, "-o", out, "--csv", tmp_path / "sheet")
    assert result.exit_code == 0, result.output
    table = (tmp_path / "sheet" / "departments.csv").read_text("utf-8").splitlines()
    assert table[:2] == ["department,dialogues,share", f"not recorded,2,{2 / 3}"]
    assert "Surgery" in (tmp_path / "sheet" / "departments.svg").read_text("utf-8")
    dialogues, problems = read_dialogues(out)
    assert not problems and sorted(dialogue.id for dialogue in dialogues) == ["a", "b/ü", "c"]
    assert {dialogue.models[0] for dialogue in dialogues} == {"offline"}
    sheet = json.loads((tmp_path / "dialogs.jsonl.sheet.json").read_text("utf-8"))
    assert sheet["dialogues"] == 3 and sheet["departments"] == {"not recorded": 2, "Surgery": 1}
    assert sheet["use"] == "For research only, not for care."
    assert sheet["licence"] == "that of the notes and of the models that wrote the dialogues; this sheet grants none"
    assert sheet["languages"] == {"en": 2, "zh": 1} and "Mean turns" in result.stdout
    assert not failures(tmp_path / "dialogs.failed.jsonl")


def test_without_a_dialogue_there_is_no_table_of_departments_and_the_reasons_are_printed(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps({"id": "a", "note": "Reviewed and remained unchanged."}) + "\n", "utf-8")
    result = run(notes, "-o", tmp_path / "d.jsonl", "--csv", tmp_path / "sheet")
    assert result.exit_code == 1 and not (tmp_path / "sheet").exists(), result.output
    assert "Table departments left out" in result.stdout and "Notes without a dialogue: 1" in result.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_device_or_a_pipe_is_no_output_and_is_left_as_it_is(source: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run(source, "-o", pipe)
    assert result.exit_code == 2 and "name a file" in result.stderr
    with pytest.raises(OSError, match="name a file"), replacing(pipe):
        pass
    assert [pipe] == [file for file in tmp_path.iterdir() if file != source] and pipe.is_fifo()


def test_what_is_no_note_is_counted_by_file_in_the_output_and_in_the_data_sheet(tmp_path: Path) -> None:
    case = {"question": "A 40-year-old man comes because of a cough. What is it?", "options": {"A": "Flu"}}
    for name, more in (("train", 2), ("dev", 1)):
        other = {"question": "Which enzyme is it?", "answer": "Flu", "options": {"A": "Flu"}}
        lines = [{**case, "answer": "Flu"}, *[other] * more]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    result = run(tmp_path / "train.jsonl", tmp_path / "dev.jsonl", "-o", tmp_path / "d.jsonl")
    left_out = [
        "train.jsonl: 2 questions left out: no patient is described",
        "dev.jsonl: 1 question left out: no patient is described",
    ]
    assert all(reason in result.stdout for reason in left_out)
    assert json.loads((tmp_path / "d.jsonl.sheet.json").read_text("utf-8"))["left_out"] == left_out


@pytest.mark.slow
def test_notes_are_read_once_as_hundreds_of_thousands_take_minutes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Source] = []
    records = note_files._records
    monkeypatch.setattr(note_files, "_records", lambda each: read.append(each) or records(each))
    assert run(source, "-o", tmp_path / "d.jsonl", "--limit", 1).exit_code == 0 and len(read) == 1


@pytest.mark.slow
def test_the_messages_are_what_trainers_read(source: Path, tmp_path: Path) -> None:
    run(source, "-o", tmp_path / "d.jsonl")
    for line in (tmp_path / "d.jsonl").read_text("utf-8").split("\n")[:-1]:
        messages = json.loads(line)["messages"]
        assert [set(message) for message in messages] == [{"role", "content"}] * len(messages)
        assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2)


@pytest.mark.slow
def test_run_again_it_makes_nothing_twice_and_a_limit_and_a_strategy_are_other_runs(
    source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "d.jsonl"
    assert run(source, "-o", out, "--limit", 2).exit_code == 0
    before = out.read_bytes()
    again = run(source, "-o", out, "--limit", 2)
    assert again.exit_code == 0 and out.read_bytes() == before and "1/2" not in again.stderr
    for more, named in (
        (("--limit", 3), "data.notes: was 2, is 3"),
        (("--limit", 2, "--strategy", "direct"), "workflow.reconstruction: was None, is 'direct'"),
    ):
        refused = run(source, "-o", out, *more)
        assert refused.exit_code == 2 and named in refused.stderr and out.read_bytes() == before


@pytest.mark.slow
def test_what_has_passed_the_gates_is_not_checked_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(dialogue: object) -> Any:
        raise AssertionError("checked again")

    monkeypatch.setattr(dialogue_files, "check_dialogue", refuse)
    for _ in range(2):
        assert run(source, "-o", tmp_path / "d.jsonl").exit_code == 0
    assert len(read_dialogues(tmp_path / "d.jsonl")[0]) == 3


def test_what_has_failed_a_gate_is_checked_again_only_if_the_program_or_the_dialogue_is_another(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: ChatRequest) -> Any:
        return {"exchanges": [{"physician": "What is it?", "patient": "I have had it for 77 weeks."}]}

    out, failed = tmp_path / "d.jsonl", tmp_path / "d.failed.jsonl"
    with FakeServer(answer=answer) as server:
        models = ("--models", f"openai:fake-model@{server.base_url}")
        command = (source, "-o", out, "--strategy", "direct", "--limit", 1, *models)
        run(*command)
        before = failed.read_bytes()
        checked: list[str] = []

        def pass_all(dialogue: Dialogue) -> list[object]:
            checked.append(dialogue.id)
            return []

        monkeypatch.setattr(dialogue_files, "check_dialogue", pass_all)
        assert run(*command).exit_code == 1 and not checked and failed.read_bytes() == before
        failed.write_bytes(before.replace(b"77 weeks", b"78 weeks"))
        assert run(*command).exit_code == 0 and checked == ["a"] and not failed.read_bytes()
        failed.write_bytes(before)
        root = tmp_path / "d.jsonl.work"
        manifest = recorded_manifest(root) or {}
        write_manifest(root, {**manifest, "versions": {**manifest["versions"], "wardround": "0.0.9"}})
        assert run(*command).exit_code == 0 and len(checked) > 1


@pytest.mark.slow
def test_the_files_do_not_depend_on_the_order_in_which_notes_ended(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "dialogs.jsonl"
    run(source, "-o", out)
    written, results = out.read_bytes(), tmp_path / "dialogs.jsonl.work" / "results.jsonl"
    results.write_bytes(b"".join(reversed(results.read_bytes().splitlines(keepends=True))))
    assert run(source, "-o", out).exit_code == 0
    assert out.read_bytes() == written and written.count(b"\n") == 3


def test_a_cut_last_line_is_mended(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.jsonl"
    run(source, "-o", out)
    whole = out.read_text("utf-8")
    out.write_text(whole[: whole.rindex('{"id"') + 30], "utf-8")
    assert run(source, "-o", out).exit_code == 0
    assert sorted(out.read_text("utf-8").split("\n")) == sorted(whole.split("\n"))


def test_what_fails_a_gate_stands_apart_with_the_gate_and_is_not_tried_again(source: Path, tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Any:
        return {"exchanges": [{"physician": "What is it?", "patient": "I have had it for 77 weeks."}]}

    with FakeServer(answer=answer) as server:
        arguments = (source, "-o", tmp_path / "d.jsonl", "--strategy", "direct", "--limit", 1)
        models = ("--models", f"openai:fake-model@{server.base_url}")
        result = run(*arguments, *models)
        asked = len(server.requests)
        assert run(*arguments, *models).exit_code == 1 and len(server.requests) == asked
    assert result.exit_code == 1 and "numbers_of_the_note" in result.stderr
    (failed,) = failures(tmp_path / "d.failed.jsonl")
    assert (failed["id"], failed["termination"], failed["gates"]) == (
        "a",
        "gates",
        ["numbers_of_the_note", "times_of_the_note"],
    )
    assert "'77' is not in the note" in failed["problems"][0] and failed["dialogue"]["messages"]
    assert (tmp_path / "d.jsonl").read_text("utf-8") == ""


@pytest.mark.slow
def test_the_data_sheet_says_what_each_model_used(source: Path, tmp_path: Path) -> None:
    with FakeServer() as server:
        blocks = [f"--set=model.{name}.spec=openai:fake-model@{server.base_url}" for name in ("expert", "writer")]
        roles = ("--models=clinical_expert=expert", "--models=dialogue_writer=writer", "--set=whole_dialogue=true")
        result = run(source, "-o", tmp_path / "d.jsonl", *blocks, *roles, "--set=model.writer.prices=[1, 2]")
    sheet = json.loads((tmp_path / "d.jsonl.sheet.json").read_text("utf-8"))
    expert, writer = sheet["models"]["expert"], sheet["models"]["writer"]
    assert sheet["calls"] == expert["calls"] + writer["calls"] and expert["calls"] == len(NOTES), result.output
    assert sheet["tokens"] == sum(use[f"{way}_tokens"] for use in (expert, writer) for way in ("input", "output")) > 0
    assert sheet["cost"] is expert["cost"] is None
    assert writer["cost"] == pytest.approx((writer["input_tokens"] + 2 * writer["output_tokens"]) / 1e6)
    assert "of writer" in result.stdout


@pytest.mark.slow
def test_a_model_that_cannot_be_reached_fails_the_note_until_it_is_run_again(source: Path, tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Any:
        return {"exchanges": [{"physician": "What is it?", "patient": "I have had it for 3 weeks."}]}

    with FakeServer(answer=answer, faults=["500"] * 2) as server:
        arguments = (source, "-o", tmp_path / "d.jsonl", "--strategy=direct", "--limit=1", "--set=max_attempts=1")
        models = ("--models", f"openai:fake-model@{server.base_url}")
        first = run(*arguments, *models)
        assert first.exit_code == 1, first.output
        assert [line["termination"] for line in failures(tmp_path / "d.failed.jsonl")] == ["model_error"]
        while (again := run(*arguments, *models)).exit_code:
            assert len(server.requests) < 4, again.output
    assert not failures(tmp_path / "d.failed.jsonl") and len(read_dialogues(tmp_path / "d.jsonl")[0]) == 1


def test_a_limit_of_the_run_stops_a_reconstruction_and_a_raised_one_goes_on(source: Path, tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Any:
        return {"exchanges": [{"physician": "What is it?", "patient": "I feel ill and tired."}]}

    with FakeServer(answer=answer) as server:
        arguments = (source, "-o", tmp_path / "d.jsonl", "--strategy=direct", "--concurrency=1")
        models = ("--models", f"openai:fake-model@{server.base_url}")
        stopped = run(*arguments, *models, "--set=limits.run.calls=1")
        assert stopped.exit_code == 1 and "1 note not attempted" in stopped.stdout, stopped.output
        assert [line["termination"] for line in failures(tmp_path / "d.failed.jsonl")] == ["run_calls_limit"]
        assert len(server.requests) == len(read_dialogues(tmp_path / "d.jsonl")[0]) == 1
        assert run(*arguments, *models).exit_code == 0 and len(server.requests) == 3
    assert not failures(tmp_path / "d.failed.jsonl") and len(read_dialogues(tmp_path / "d.jsonl")[0]) == 3


def test_a_model_with_parameters_of_its_own_is_a_block_on_the_command_line(source: Path, tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Any:
        return {"exchanges": [{"physician": "What is it?", "patient": "I feel ill and tired."}]}

    with FakeServer(answer=answer) as server:
        block = {"spec": "openai:fake-model", "base_url": server.base_url, "temperature": 0.7, "prices": [1.0, 2.0]}
        settings = [part for key, value in block.items() for part in ("--set", f"model.own.{key}={value}")]
        ran = run(source, "-o", tmp_path / "d.jsonl", "--strategy=direct", "--models=default=own", *settings)
    assert ran.exit_code == 0, ran.output
    assert {request.body["temperature"] for request in server.requests} == {0.7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.jsonl",), "nowhere.jsonl: file not found"),
        (("builtin", "--models", "dokter=offline"), "unknown role 'dokter'"),
        (("builtin", "--models", "default=human"), "cannot wait for a person"),
        (("builtin", "--set", "reconstruction=guess"), "workflow.reconstruction"),
        (("builtin", "--set", "data.limit=3"), "--set data.limit: not a setting of a reconstruction"),
    ],
)
def test_bad_input_is_refused_with_a_reason_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run(*arguments, "-o", tmp_path / "out" / "d.jsonl")
    assert result.exit_code == 2 and message in result.stderr, result.stderr
    assert not (tmp_path / "out").exists() and "Traceback" not in result.output


def test_a_file_that_is_not_ours_a_folder_and_the_source_itself_are_not_written_over(
    source: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text("{}\n", "utf-8")
    for out, message in (
        (foreign, "was not written by this command"),
        (tmp_path, "is a folder"),
        (source, "is an input file and would be overwritten"),
    ):
        result = run(source, "-o", out)
        assert result.exit_code == 2 and message in result.stderr, result.output
    assert foreign.read_text("utf-8") == "{}\n"


@pytest.mark.slow
def test_a_projection_reads_the_notes_once(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def counted(notes: Any, warnings: Any = None) -> Any:
        read.append(notes)
        return note_files.read_notes(notes, warnings)

    monkeypatch.setattr(selection, "read_notes", counted)
    result = run(source, "-o", tmp_path / "d.jsonl", "--dry-run")
    assert result.exit_code == 0 and len(read) == 1, result.output
