"""A trace is packed when its case has ended, and read from either form."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cases.validation import InputError
from llm.trace import raw_lines, trace_lines
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from wardround.cli import app
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import pack, packed_fault, read_trace, traces_in, unpack

LINES = ['{"id": "a"}\n', '{"id": "咳嗽\u2028"}\n', "cut off"]


def test_what_is_packed_is_what_gzip_unpacks_and_is_written_on_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "fever.01-0.jsonl"
    file.write_bytes("".join(LINES).encode())
    pack(file)
    (packed,) = tmp_path.iterdir()
    assert gzip.decompress(packed.read_bytes()) == "".join(LINES).encode()
    assert traces_in(tmp_path) == [file] and list(trace_lines(file)) == list(trace_lines(packed)) == LINES
    unpack(file)
    assert list(tmp_path.iterdir()) == [file] and file.read_bytes() == "".join(LINES).encode()


def test_gigabytes_packed_into_one_line_are_not_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.trace._LONGEST_LINE", 1_000)
    file = tmp_path / "fever-0.jsonl"
    file.write_bytes(b"x" * 10_000 + b"\n" + LINES[0].encode())
    pack(file)
    assert max(map(len, raw_lines(file))) == 1_000 and list(trace_lines(file))[-1] == LINES[0]
    unpack(file)
    assert file.read_bytes() == b"x" * 10_000 + b"\n" + LINES[0].encode()


def test_a_packed_trace_that_unpacks_to_more_than_any_is_refused_by_name_and_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", [graded(ENGLISH[0])], {(ENGLISH[0], 0): [call()]})
    file = RunDirectory(run).trace_file(ENGLISH[0], 0)
    pack(file)
    packed = file.with_name(f"{file.name}.gz")
    honest = packed.read_bytes()
    packed.write_bytes(honest + gzip.compress(b"\n" * 1_000_000))
    monkeypatch.setattr("llm.trace._LARGEST", 100_000)
    with pytest.raises(InputError, match=f"{packed}: unpacks to more than"):
        read_trace(file)
    for command in (["report"], ["tables", "--table", "roles"]):
        done = CliRunner().invoke(app, [*command, str(run)])
        assert done.exit_code == 2 and f"{packed}: unpacks to more than" in done.output
    done = CliRunner().invoke(app, ["doctor", str(run)])
    assert f"repaired: {packed}: unpacks to more than" in done.output
    assert not packed.exists() and not file.exists() and (run / "damaged/traces" / packed.name).exists()
    assert CliRunner().invoke(app, ["report", str(run)]).exit_code == 0


def test_where_a_kill_has_left_both_forms_the_lines_count(tmp_path: Path) -> None:
    file = tmp_path / "fever-0.jsonl"
    file.write_text("{}\n")
    (tmp_path / "fever-0.jsonl.gz").write_bytes(b"half")
    assert list(trace_lines(file)) == ["{}\n"]
    unpack(file)
    assert list(tmp_path.iterdir()) == [file] and file.read_text() == "{}\n"


def test_a_packed_trace_that_a_power_cut_emptied_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a-0.jsonl.gz").touch()
    assert packed_fault(tmp_path / "a-0.jsonl") == f"{tmp_path / 'a-0.jsonl.gz'}: cannot be unpacked: is empty"
