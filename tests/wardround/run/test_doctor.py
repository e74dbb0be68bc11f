"""Runs damaged by other hands: what cannot be read is set aside and named, and the run goes on to the same end."""

import json
import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cases import load_cases, save_cases
from llm.checksums import sealed
from llm.limits import Limits
from llm.trace import trace_lines
from tests.support.damages import DAMAGES, damage
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.runs import IDS, outcomes, results, run, short
from tests.support.schema_sampler import sample
from wardround.cli import app
from wardround.config.experiment import AllLimits, ConfigurationError, Experiment
from wardround.run.checkpoints import damaged_threads, mend_sqlite, sqlite_fault
from wardround.run.doctor import examine
from wardround.store.recorded_run import find_runs
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace, traces_in, unpack

EXPERIMENT = short(limit=2)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two cases, offline."""
    out = tmp_path_factory.mktemp("sound") / "run"
    run(EXPERIMENT, out)
    return out


@pytest.fixture
def damaged(sound: Path, tmp_path: Path) -> Path:
    """The same run, to be damaged."""
    return shutil.copytree(sound, tmp_path / "run")


def doctor(*arguments: Any) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["doctor", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def unpacked(run: Path) -> list[Path]:
    """The traces of a run as lines, as somebody may have unpacked them."""
    for file in traces_in(run / "traces"):
        unpack(file)
    return traces_in(run / "traces")


def edited(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


def flip_in(file: Path, words: bytes) -> None:
    """Turn a bit of the first letter of words in a file."""
    content = file.read_bytes()
    assert words in content
    place = content.index(words)
    file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


def test_a_sound_run_is_told_to_be_so_and_left_as_it_is(damaged: Path) -> None:
    before = {file: file.read_bytes() for file in damaged.rglob("*.json*")}
    assert doctor(damaged) == (0, f"{damaged}: no damage found\n")
    assert {file: file.read_bytes() for file in damaged.rglob("*.json*")} == before


def test_a_result_with_a_flipped_bit_is_not_counted_but_set_aside_and_run_again(sound: Path, damaged: Path) -> None:
    flip_in(damaged / "results.jsonl", b'diagnosis":')
    with pytest.raises(ConfigurationError, match=r"line 1 has changed since it was written.*`wardround doctor"):
        RunDirectory(damaged).results()
    assert doctor("--check", damaged)[0] == 1 and not (damaged / "damaged").exists()
    code, told = doctor(damaged)
    assert code == 0 and "results.jsonl: line 1 has changed since it was written" in told
    assert len(results(damaged)) == 1 and len((damaged / "damaged/results.jsonl").read_bytes().splitlines()) == 1
    run(EXPERIMENT, damaged)
    assert outcomes(damaged) == outcomes(sound)


def test_a_run_sets_damaged_lines_aside_by_itself_and_names_them(
    sound: Path, damaged: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flip_in(damaged / "results.jsonl", b'seconds"')
    summary = run(EXPERIMENT, damaged)
    assert summary["not_attempted"] == 0 and outcomes(damaged) == outcomes(sound)
    assert "results.jsonl: line 1 has changed since it was written" in caplog.text


@pytest.mark.parametrize("doubled", ["the same line", "another result of the case", "a case of another run"])
def test_of_a_case_told_twice_or_of_another_run_nothing_is_counted_twice(
    sound: Path, damaged: Path, doubled: str
) -> None:
    line = (damaged / "results.jsonl").read_bytes().splitlines(keepends=True)[0]
    if doubled != "the same line":
        other = json.loads(line) | ({"seconds": 1e6} if doubled.startswith("another") else {"case_id": "nobody"})
        other.pop("checksum")  # as older versions wrote it
        line = json.dumps(other).encode() + b"\n"
    edited(damaged / "results.jsonl", lambda content: content + line)
    summary = run(EXPERIMENT, damaged)
    assert (summary["attempted"], summary["not_attempted"]) == (2, 0)
    assert outcomes(damaged) == outcomes(sound) and max(one.seconds for one in results(damaged)) < 1e6
    assert (damaged / "damaged/results.jsonl").read_bytes() == line


def test_results_of_an_older_version_and_those_that_another_tool_wrote_anew_are_read(
    sound: Path, damaged: Path
) -> None:
    first, second = (json.loads(line) for line in (damaged / "results.jsonl").read_bytes().splitlines())
    first.pop("checksum")
    (damaged / "results.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(second, indent=None)}\n", "utf-8")
    assert outcomes(damaged) == outcomes(sound) and doctor(damaged)[0] == 0
    first["calls"] = len(read_trace(RunDirectory(damaged).trace_file(first["case_id"], 0)).calls)  # rules counted, too
    first.pop("uncounted")
    (damaged / "results.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n", "utf-8")
    summary = json.loads((damaged / "summary.json").read_bytes())
    summary["scores"]["diagnosis"]["ci95"] = [0.0, 1.0]  # an earlier version's interval
    del summary["scores"]["treatment"]  # a column that an earlier version did not have
    (damaged / "summary.json").write_text(json.dumps(summary), "utf-8")
    assert doctor(damaged) == (0, f"{damaged}: no damage found\n")
    assert not (damaged / "damaged").exists()


def test_fields_that_only_another_version_knows_stop_nobody(sound: Path, damaged: Path) -> None:
    with FakeServer() as server:
        experiment, out = short(server, limit=1), damaged.parent / "played"
        run(experiment, out)
        asked = len(server.requests)
        for file in (out / "results.jsonl", *unpacked(out)):
            lines = [json.loads(line) for line in file.read_bytes().splitlines()]
            for line in lines:
                line.pop("checksum")
            file.write_text("".join(json.dumps(line | {"of_tomorrow": 1}) + "\n" for line in lines), "utf-8")
        kept = outcomes(out)
        edited(out / "results.jsonl", lambda content: b"")
        run(experiment, out)
        assert len(server.requests) == asked, "what the trace holds was paid again"
    assert outcomes(out) == kept


def test_a_damaged_line_of_a_trace_is_asked_again_and_the_others_are_not(tmp_path: Path) -> None:
    with FakeServer() as server:
        experiment = short(server, limit=1)
        run(experiment, tmp_path / "whole")
        shutil.copytree(tmp_path / "whole", tmp_path / "run")
        asked = len(server.requests)
        (trace,) = unpacked(tmp_path / "run")
        lines = trace.read_bytes().splitlines(keepends=True)
        lines[3] = lines[3].replace(b'"answer":{', b'"answer": {"a": 1, ')
        trace.write_bytes(b"".join(lines))
        (tmp_path / "run/results.jsonl").unlink()
        run(experiment, tmp_path / "run")
        assert len(server.requests) == asked + 1
    assert outcomes(tmp_path / "run") == outcomes(tmp_path / "whole")
    assert (tmp_path / "run/damaged/traces" / trace.name).read_bytes() == lines[3]


@pytest.mark.slow
@pytest.mark.parametrize("half", ["in the reply", "in its JSON"])
def test_an_answer_with_half_a_character_is_on_record_and_not_paid_again(tmp_path: Path, half: str) -> None:
    def answer(request: ChatRequest) -> str:
        value = sample(request.schema or {}, random.Random(request.digest))
        if "reason" in value:
            value["reason"] = "It hurts \ud83d here."
        return json.dumps(value, ensure_ascii=half == "in its JSON")

    with FakeServer(answer=answer) as server:
        experiment = short(server, limit=1)
        assert run(experiment, tmp_path)["terminations"] == {"completed": 1}
        asked = len(server.requests)
        (tmp_path / "results.jsonl").unlink()
        run(experiment, tmp_path)
        assert len(server.requests) == asked
    (trace,) = unpacked(tmp_path)
    assert "It hurts \ufffd here." in trace.read_text("utf-8")


@pytest.mark.parametrize("wrong", ["cut short", "a byte changed"])
def test_a_packed_trace_that_cannot_be_unpacked_is_set_aside_and_what_is_left_of_it_read(
    sound: Path, damaged: Path, wrong: str
) -> None:
    packed = damaged / "traces" / f"{IDS[0]}-0.jsonl.gz"
    content = packed.read_bytes()
    half = len(content) // 2
    changed = b"" if wrong == "cut short" else bytes([content[half] ^ 0xFF]) + content[half + 1 :]
    packed.write_bytes(content[:half] + changed)
    code, told = doctor("--check", damaged)
    assert code == 1 and f"{packed}: cannot be unpacked" in told
    code, told = doctor(damaged)
    assert code == 0 and "cannot be unpacked" in told and (damaged / "damaged/traces" / packed.name).is_file()
    trace = packed.with_suffix("")
    whole = list(trace_lines(sound / "traces" / trace.name))
    left = list(trace_lines(trace))
    assert 0 < len(left) < len(whole) and left == [line for line in whole if line in left]  # whole lines, in order
    assert doctor("--check", damaged)[0] == 0


def test_a_manifest_that_is_gone_is_put_back_from_its_copy(sound: Path, damaged: Path) -> None:
    (damaged / "manifest.json").unlink()
    with pytest.raises(ConfigurationError, match="another configuration"):
        run(short(limit=2, feedback="off"), damaged)
    assert doctor(damaged)[0] == 0
    assert (damaged / "manifest.json").read_bytes() == (sound / "manifest.json").read_bytes()


def test_results_whose_manifest_and_copy_are_gone_are_adopted_by_nobody(damaged: Path) -> None:
    for name in ("manifest.json", ".manifest.json"):
        (damaged / name).unlink()
    with pytest.raises(ConfigurationError, match=r"has results but no manifest\.json"):
        run(EXPERIMENT, damaged)
    code, told = doctor(damaged)
    assert code == 1 and "what was run is unknown" in told and "of two runs" not in told


def test_a_changed_manifest_is_set_aside_for_its_copy_and_one_of_another_run_is_refused(
    sound: Path, damaged: Path, tmp_path: Path
) -> None:
    edited(damaged / "manifest.json", lambda content: content.replace(b'"same_stage"', b'"downstream"'))
    assert doctor("--check", damaged)[0] == 1 and doctor(damaged)[0] == 0
    assert (damaged / "manifest.json").read_bytes() == (sound / "manifest.json").read_bytes()
    run(short(limit=1), tmp_path / "other")
    shutil.copy(tmp_path / "other/manifest.json", damaged / "manifest.json")
    with pytest.raises(ConfigurationError, match="belong to two runs"):
        run(short(limit=1), damaged)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a" * 300, "病" * 120, "å/" * 100])
def test_cases_with_long_names_are_run_traced_and_taken_up(tmp_path: Path, name: str) -> None:
    (case,) = [case for case in load_cases() if case.id == IDS[0]]
    twin = name[:-1] + "b"
    save_cases([case.model_copy(update={"id": one}) for one in (name, twin)], tmp_path / "cases.jsonl")
    of_file = {"cases": str(tmp_path / "cases.jsonl")}
    experiment = Experiment.model_validate({**EXPERIMENT.model_dump(), "data": of_file})
    out = tmp_path / "out"
    assert run(experiment, out)["scored"] == 2
    assert (
        len({RunDirectory(out).trace_file(one, 0) for one in (name, twin)}) == 2 == len(RunDirectory(out).trace_files())
    )
    assert doctor(out)[0] == 0
    for command in (["report"], ["tables"]):
        done = CliRunner().invoke(app, [*command, str(out)])
        assert done.exit_code == 0, done.output


def test_a_case_file_may_be_named_from_anywhere_when_a_run_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = (case for case in load_cases() if case.id == IDS[0])
    save_cases([case], tmp_path / "cases.jsonl")
    monkeypatch.chdir(tmp_path)
    arguments = ["--set", "retrieval=false", "--set", "general_agents=1"]
    for name in ("cases.jsonl", "./cases.jsonl", str(tmp_path / "cases.jsonl")):
        done = CliRunner().invoke(app, ["run", "--cases", name, *arguments])
        assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "runs").iterdir())) == 1, "the same cases went to another directory"
    patient = case.patient.model_copy(update={"chief_complaint": "Another complaint"})
    save_cases([case.model_copy(update={"patient": patient})], tmp_path / "cases.jsonl")
    done = CliRunner().invoke(app, ["run", "--cases", "cases.jsonl", *arguments])
    assert done.exit_code == 2 and "data.fingerprint" in done.output


class Killed(BaseException):
    """Stands for the end of the process."""


def half_done(server: FakeServer, out: Path) -> Experiment:
    """A run that was killed in the middle of its first case."""
    experiment = short(server, limit=1, concurrency=1)
    server.faults = [None] * 8
    held = server.answer

    def answer(request: ChatRequest) -> None:
        if len(server.requests) > 8:
            raise ConnectionError("enough")

    server.answer = answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llm.retries._FIRST_WAIT", 0.01)
        run(experiment, out)
    server.answer = held
    assert results(out)[0].termination == "model_error"
    return experiment


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["the file", "a header", "a value", "beside a value", "a table"])
def test_damaged_checkpoints_cost_no_call_and_no_result(tmp_path: Path, damage: str) -> None:
    with FakeServer() as server:
        run(short(server, limit=1), tmp_path / "whole")
        whole, out = len(server.requests), tmp_path / "run"
        experiment = half_done(server, out)
        refused = sum(request.status == 500 for request in server.requests)
        file = out / "checkpoints.sqlite"
        if damage == "the file":
            edited(file, lambda content: random.Random(0).randbytes(len(content)))
        elif damage == "a header":
            edited(file, lambda content: content[:100] + b"\xff" * 400 + content[500:])
        else:
            with closing(sqlite3.connect(file)) as database, database:
                database.execute(
                    {
                        "a value": "UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, length(checkpoint) - 4)",
                        "beside a value": "UPDATE checkpoints SET metadata = '{'",
                        "a table": "ALTER TABLE writes RENAME COLUMN channel TO chanel",
                    }[damage]
                )
        assert run(experiment, out)["scored"] == 1
        assert len(server.requests) == 2 * whole + refused
    assert [one | {"calls": 0} for one in outcomes(out)] == [one | {"calls": 0} for one in outcomes(tmp_path / "whole")]


def kept_in(file: Path) -> int:
    """How many checkpoints are in a file."""
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM checkpoints").fetchone()[0])


@pytest.mark.slow
def test_checkpoints_that_a_stopped_database_has_left_are_dropped_and_their_room_is_given_back(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.sqlite"
    with FakeServer() as server:
        experiment = half_done(server, tmp_path)
        kept = file.read_bytes()
        run(experiment, tmp_path)
        assert file.stat().st_size < len(kept)
        for mend in (lambda: run(experiment, tmp_path), lambda: doctor(tmp_path)):
            file.write_bytes(kept)
            assert kept_in(file) > 0
            mend()
            assert kept_in(file) == 0 and file.stat().st_size < 50_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_checkpoints_that_nobody_may_write_are_not_taken_for_damaged(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (x)")
    tmp_path.chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        assert sqlite_fault(file) is None and damaged_threads(file) == set()
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_a_file_of_checkpoints_that_cannot_be_mended_is_named(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: Any) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    (damaged / "checkpoints.sqlite").touch()
    monkeypatch.setattr("wardround.run.doctor.drop_threads", read_only)
    (left,) = examine(RunDirectory(damaged), mend=True).left
    assert left.startswith(f"{damaged / 'checkpoints.sqlite'}: attempt to write") and "can be written" in left


@pytest.mark.slow
def test_a_file_of_checkpoints_that_somebody_else_holds_is_not_taken_for_damaged(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "checkpoints.sqlite") as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("BEGIN EXCLUSIVE")
        assert mend_sqlite(tmp_path / "checkpoints.sqlite") is None
    assert not (tmp_path / "damaged").exists()


def test_a_summary_that_is_not_that_of_the_results_is_made_again(sound: Path, damaged: Path) -> None:
    kept = json.loads((damaged / "summary.json").read_text("utf-8"))
    kept["scores"]["diagnosis"]["mean"] = 1.0
    (damaged / "summary.json").write_text(json.dumps(kept), "utf-8")
    assert doctor(damaged)[0] == 0
    assert json.loads((damaged / "summary.json").read_bytes()) == json.loads((sound / "summary.json").read_bytes())


@pytest.mark.parametrize(
    "name",
    ["results.jsonl", "damaged", "damaged/results.jsonl", "damaged/traces", "ratings.jsonl", "options.jsonl",
     ".results.jsonl.part", ".lock", ".summary.json.part", "checkpoints.sqlite", "traces/other-0.jsonl"],
)  # fmt: skip
def test_nothing_is_written_where_a_link_in_a_received_directory_leads(damaged: Path, name: str) -> None:
    with (damaged / "results.jsonl").open("a", encoding="utf-8") as out:
        out.write("ssh-rsa of a stranger\n")
    (damaged / "summary.json").write_text("{}", "utf-8")
    outside, link = damaged.parent / "outside", damaged / name
    link.parent.mkdir(exist_ok=True)
    if link.exists():
        shutil.move(link, outside)
    elif name == "damaged":
        outside.mkdir()
    else:
        outside.write_text("precious", "utf-8")
    before = contents(outside)
    link.symlink_to(outside)
    doctor(damaged)
    assert contents(outside) == before


def test_a_link_of_the_owners_is_no_fault(damaged: Path) -> None:
    moved = damaged.parent / "scratch"
    shutil.move(damaged / "traces", moved)
    for link in (damaged / "traces", damaged / "data", moved / "notes"):
        link.symlink_to(moved if link.name == "traces" else damaged.parent)
    edited(damaged / "results.jsonl", lambda content: b"x\n" + content)
    assert doctor(damaged)[0] == 0 and (damaged / "damaged/results.jsonl").read_bytes() == b"x\n"
    (moved / "other-0.jsonl").symlink_to(damaged.parent / "precious")
    doctor(damaged)
    assert not (damaged.parent / "precious").exists()


def contents(place: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in [place, *place.rglob("*")] if file.is_file()}


def a_ring(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(file.name)


@pytest.mark.parametrize("replaced", [lambda file: file.mkdir(), a_ring], ids=["a folder", "a ring of links"])
@pytest.mark.parametrize(
    "name",
    ["results.jsonl", "manifest.json", ".manifest.json", "summary.json", "options.jsonl", "pseudo_cases.jsonl", ".lock",
     "checkpoints.sqlite", ".results.jsonl.part", "traces/dentistry-02-0.jsonl"],
)  # fmt: skip
def test_what_stands_in_the_place_of_a_file_is_set_aside(
    damaged: Path, name: str, replaced: Callable[[Path], None]
) -> None:
    file = damaged / name
    file.unlink(missing_ok=True)
    replaced(file)
    told = f"{file}: should be a file, but is not"
    code, said = doctor("--check", damaged)
    assert code == 1 and told in said and os.path.lexists(file)
    code, said = doctor(damaged)
    assert code == 0 and told in said and os.path.lexists(damaged / "damaged" / file.name)
    assert doctor("--check", damaged)[0] == 0


def test_a_file_in_the_place_of_what_is_set_aside_gives_way(damaged: Path) -> None:
    (damaged / "damaged").write_text("mine", "utf-8")
    edited(damaged / "results.jsonl", lambda content: b"x\n" + content)
    assert doctor(damaged)[0] == 0
    assert (damaged / "damaged/damaged.part").read_text("utf-8") == "mine"
    assert (damaged / "damaged/results.jsonl").read_bytes() == b"x\n"


@pytest.mark.slow
def test_results_of_another_run_are_not_counted_as_this_ones(
    sound: Path, damaged: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(short(limit=2, feedback="off"), tmp_path / "other")
    shutil.copy(tmp_path / "other/results.jsonl", damaged / "results.jsonl")
    code, told = doctor(damaged)
    assert code == 1 and "the results belong to two runs" in told and not (damaged / "damaged").exists()
    with pytest.raises(ConfigurationError, match="line 1 belongs to another run"):
        _ = find_runs([damaged])[0].results
    run(EXPERIMENT, damaged)
    assert outcomes(damaged) == outcomes(sound) and "results.jsonl: line 1 belongs to another run" in caplog.text
    first = (tmp_path / "other/results.jsonl").read_bytes().splitlines(keepends=True)[0]
    edited(damaged / "results.jsonl", lambda content: first + content)
    code, told = doctor(damaged)
    assert code == 0 and "results.jsonl: line 1 belongs to another run" in told and outcomes(damaged) == outcomes(sound)


@pytest.mark.parametrize("foreign", [{"case_id": "of-nobody"}, {"epoch": 5}], ids=["case", "epoch"])
def test_a_result_of_no_case_of_the_run_is_named_wherever_a_case_is_needed_and_set_aside(
    sound: Path, damaged: Path, foreign: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    line = json.loads((damaged / "results.jsonl").read_bytes().splitlines()[0]) | foreign
    line.pop("checksum")
    edited(damaged / "results.jsonl", lambda content: content + json.dumps(line).encode() + b"\n")
    for command in (
        ["tables", "--table", "orders"],
        ["judges", "--judge", "offline"],
        ["score", "icd10"],
        ["floors"],
    ):
        done = CliRunner().invoke(app, [*command, str(damaged)])
        assert done.exit_code == 2 and f"the result for {line['case_id']}, epoch {line['epoch']}," in done.output
        assert f"run `wardround doctor {damaged}` to move it aside" in done.output
    compared = CliRunner().invoke(app, ["compare", str(sound), str(damaged)])
    assert compared.exit_code == 0 and f"result for {line['case_id']}, epoch {line['epoch']}, is not" in caplog.text
    assert CliRunner().invoke(app, ["report", str(damaged)]).exit_code == 0
    assert f"result for {line['case_id']}, epoch {line['epoch']}, is not part" in (damaged / "report.html").read_text()
    code, told = doctor(damaged)
    assert code == 0 and f"line 3 is for {line['case_id']}, epoch {line['epoch']}, which is not part" in told
    assert outcomes(damaged) == outcomes(sound)


@pytest.mark.parametrize("score", ["NaN", "Infinity", "1e308"])
def test_a_score_that_is_no_number_is_not_counted(sound: Path, damaged: Path, score: str) -> None:
    lines = [json.loads(line) for line in (damaged / "results.jsonl").read_bytes().splitlines()]
    lines[0]["scores"]["diagnosis"] = float(score)
    lines[0].pop("checksum")
    (damaged / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with pytest.raises(ConfigurationError, match="line 1 has a score that is not a number"):
        _ = find_runs([damaged])[0].results
    code, told = doctor(damaged)
    assert code == 0 and "line 1 has a score that is not a number" in told
    run(EXPERIMENT, damaged)
    assert outcomes(damaged) == outcomes(sound)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["an array", "zeros", "a byte-order mark", "CRLF", "no line feed at its end"])
def test_a_file_of_results_that_an_editor_or_a_power_cut_has_changed_is_read_or_kept(
    sound: Path, damaged: Path, change: str
) -> None:
    content = (damaged / "results.jsonl").read_bytes()
    lines = content.splitlines()
    kept = {
        "an array": b"[" + b",".join(lines) + b"]",
        "zeros": bytes(len(content)),
        "a byte-order mark": b"\xef\xbb\xbf" + content,
        "CRLF": b"\r\n".join([*lines, b""]),
        "no line feed at its end": content[:-1],
    }[change]
    (damaged / "results.jsonl").write_bytes(kept)
    lost = change in ("an array", "zeros")
    assert doctor("--check", damaged)[0] == lost
    code, _ = doctor(damaged)
    assert code == 0
    assert not lost or (damaged / "damaged/results.jsonl").read_bytes() == kept
    assert lost or outcomes(damaged) == outcomes(sound)
    run(EXPERIMENT, damaged)
    assert outcomes(damaged) == outcomes(sound)


def test_a_folder_that_is_no_run_is_refused_and_a_sweep_is_looked_through(sound: Path, tmp_path: Path) -> None:
    assert doctor(tmp_path)[0] == 2 and doctor(tmp_path / "absent")[0] == 2
    for name in ("a", "b"):
        shutil.copytree(sound, tmp_path / name)
    flip_in(tmp_path / "b/results.jsonl", b'tokens"')
    code, told = doctor(tmp_path)
    assert code == 0 and f"{tmp_path / 'a'}: no damage found" in told and "b/results.jsonl: line 1" in told


@pytest.mark.slow
def test_a_pseudo_case_that_is_lost_is_learnt_again(tmp_path: Path) -> None:
    experiment = short(limit=2, retrieval=True, grow="in_order")
    run(experiment, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    flip_in(tmp_path / "run/pseudo_cases.jsonl", b'verified"')
    run(experiment, tmp_path / "run")
    assert outcomes(tmp_path / "run") == outcomes(tmp_path / "whole")
    assert len(RunDirectory(tmp_path / "run").remembered()) == 2


@pytest.mark.parametrize("left", [0, 1])
def test_cases_that_ended_and_whose_results_are_gone_are_named_and_scored_again_from_their_traces(
    left: int, tmp_path: Path
) -> None:
    with FakeServer() as server:
        experiment = short(server, limit=2)
        run(experiment, tmp_path / "whole")
        out = shutil.copytree(tmp_path / "whole", tmp_path / "run")
        edited(out / "results.jsonl", lambda content: b"".join(content.splitlines(keepends=True)[:left]))
        gone = {f"{case_id}-0" for case_id in IDS[:2]} - {f"{result.case_id}-0" for result in results(out)}
        told = f"results.jsonl: no result for {', '.join(sorted(gone))}, which had ended; the same command again"
        code, said = doctor("--check", out)
        assert code == 1 and f"found: {out}/{told}" in said
        code, said = doctor(out)
        assert code == 0 and f"repaired: {out}/{told}" in said and told not in doctor(out)[1]
        asked = len(server.requests)
        run(experiment, out)
        assert len(server.requests) == asked, "nothing is asked again"
    assert outcomes(out) == outcomes(tmp_path / "whole")


def test_a_run_that_counted_what_a_limit_refused_is_not_damaged(tmp_path: Path) -> None:
    with FakeServer() as server:
        limits = AllLimits(case=Limits(calls=2))
        run(short(server, limit=1).model_copy(update={"limits": limits}), tmp_path)
    (result,) = results(tmp_path)
    refused = sum(not call.attempts for call in read_trace(unpacked(tmp_path)[0]).calls)
    assert refused > 0
    line = sealed(result.model_copy(update={"calls": result.calls + refused}))  # as earlier versions counted
    (tmp_path / "results.jsonl").write_text(f"{line}\n", "utf-8")
    assert "incomplete traces" not in doctor("--check", tmp_path)[1]


def test_traces_of_finished_cases_that_are_gone_or_hold_too_little_are_named_with_what_can_be_done(
    tmp_path: Path,
) -> None:
    with FakeServer() as server:
        run(short(server, limit=2), tmp_path)
    first, second = unpacked(tmp_path)
    first.unlink()
    edited(second, lambda content: b"".join(content.splitlines(keepends=True)[:-4]))
    for arguments in ((), ("--check",)):
        code, said = doctor(*arguments, tmp_path)
        assert (
            code == 1 and f"not repaired: {tmp_path}/traces: no traces of {first.stem} and incomplete traces of" in said
        )
        assert f"{second.stem}; restore them from a copy, or go on without: the scores remain" in said
    assert RunDirectory(tmp_path).results()[0].scored


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=5), seed=st.integers(0, 2**32))
def test_a_run_damaged_anyhow_comes_to_the_same_end_after_the_doctor(
    sound: Path, tmp_path_factory: pytest.TempPathFactory, kinds: list[str], seed: int
) -> None:
    out = shutil.copytree(sound, tmp_path_factory.mktemp("damaged") / "run")
    draw = random.Random(seed)
    for kind in kinds:
        damage(out, kind, draw)
    findings = examine(RunDirectory(out), mend=True)
    again = examine(RunDirectory(out), mend=False)
    assert not again.mended, f"not mended at once: {again.mended}"
    if all("/traces: no traces of " in left for left in findings.left):  # of what is finished nothing is asked
        run(EXPERIMENT, out)
        assert outcomes(out) == outcomes(sound)
