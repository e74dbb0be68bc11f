"""How commands end."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cases import CaseFileError, Problem
from tests.support.commands import wardround
from tests.support.processes import to_its_end
from tests.support.recorded_runs import write_run
from wardround.cli import app
from wardround.commands.exit_codes import Commands, end_gently

SIGNS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _signals_given_back() -> Iterator[None]:
    before = {sign: signal.getsignal(sign) for sign in [*SIGNS, signal.SIGINT]}
    yield
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of what was held back
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for sign, handler in before.items():
        signal.signal(sign, handler)


@pytest.mark.parametrize("control_c", [signal.default_int_handler, signal.SIG_IGN])  # ignored behind a shell
@pytest.mark.parametrize("sign", SIGNS)
def test_the_end_of_a_session_interrupts_as_control_c_does(sign: signal.Signals, control_c: Any) -> None:
    signal.signal(signal.SIGINT, control_c)
    signal.signal(sign, signal.SIG_DFL)
    end_gently()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(sign)


BEHIND_A_SHELL = """
import asyncio, os, signal, sys
from wardround.commands.exit_codes import end_gently

async def waits():
    try:
        os.kill(os.getpid(), signal.SIGINT)  # still ignored
        await asyncio.sleep(0)
        print("told")
        os.kill(os.getpid(), int(sys.argv[1]))
        await asyncio.sleep(60)
    except BaseException as error:
        print(type(error).__name__)
        raise

signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(int(sys.argv[1]), signal.SIG_DFL)  # under nohup it is ignored, and stays so
end_gently()
try: asyncio.run(waits())
except KeyboardInterrupt: print("interrupted")
"""


@pytest.mark.parametrize("sign", SIGNS)
def test_behind_a_shell_the_end_of_a_session_lets_tasks_come_to_their_ends(sign: signal.Signals) -> None:
    """An error raised in the middle of the loop could leave one task waiting for another for ever.

    In a process of its own: threads that were there before would take the signal that is held back.
    """
    ended = subprocess.run([sys.executable, "-c", BEHIND_A_SHELL, str(int(sign))], capture_output=True, text=True)
    assert ended.stdout.split() == ["told", "CancelledError", "interrupted"], ended.stderr


@pytest.mark.parametrize("sign", SIGNS)
def test_a_signal_that_was_to_be_ignored_is_ignored_as_under_nohup(sign: signal.Signals) -> None:
    signal.signal(sign, signal.SIG_IGN)
    end_gently()
    signal.raise_signal(sign)
    assert signal.getsignal(sign) is signal.SIG_IGN


def _ended(stopped_by: BaseException) -> tuple[int, str]:
    app = typer.Typer(cls=Commands)

    @app.command()
    def stops() -> None:
        raise stopped_by

    @app.command()
    def other() -> None: ...

    told = CliRunner().invoke(app, ["stops"])
    return told.exit_code, told.stderr


def test_a_file_that_cannot_be_used_is_named_with_the_reason_by_every_command(tmp_path: Path) -> None:
    with pytest.raises(OSError) as error:
        tmp_path.read_text()
    assert _ended(error.value) == (2, f"error: {tmp_path}: is a directory\n")


def test_an_output_that_takes_no_more_is_told_without_an_error_number() -> None:
    assert _ended(OSError(errno.ENOSPC, "No space left on device")) == (2, "error: no space left on device\n")


def test_a_lack_of_memory_is_told_in_a_line() -> None:
    told = "error: there is not enough memory; give smaller files, or raise its limit (`ulimit -v`)\n"
    assert _ended(MemoryError()) == (2, told)


def test_a_current_folder_that_is_gone_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError) as error:
        os.getcwd()
    told = "error: the current folder has been deleted or moved away; change to another\n"
    assert _ended(error.value) == (2, told)
    assert "has been deleted" not in _ended(FileNotFoundError("a.png not found"))[1]


def test_no_room_for_temporary_files_is_told_with_the_folders_that_were_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "file")])
    with pytest.raises(FileNotFoundError) as error:
        tempfile.gettempdir()
    code, told = _ended(error.value)
    assert code == 2 and f"{tmp_path}/file" in told and "; make room there, or set TMPDIR" in told


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--limit", "1", "--out", ""], "--out"),
        (["run", "--limit", "1", "--out="], "--out"),
        (["report", ""], "the argument after report"),
    ],
)
def test_an_empty_argument_is_refused_where_a_run_would_fill_the_working_directory(
    words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = wardround(*words)
    assert ended.exit_code == 2 and ended.stderr.startswith(f"error: {named}: is empty; give a value")
    assert not list(tmp_path.iterdir())


def test_a_file_whose_name_is_in_another_encoding_is_named_as_it_can_be_in_no_record() -> None:
    with pytest.raises(UnicodeEncodeError) as error:
        json.dumps({"plugins": ["ma\udcdf.py"]}, ensure_ascii=False).encode()
    assert _ended(error.value) == (2, "error: ma\\udcdf.py: is not valid Unicode; rename the file or folder\n")


def test_a_user_without_a_home_folder_is_told_to_name_one() -> None:
    """As in a container that runs as a user that it does not know, without HOME."""
    told = "error: this user has no home folder, which libraries look for; set HOME to a folder\n"
    assert _ended(RuntimeError("Could not determine home directory.")) == (2, told)


def test_every_problem_of_a_case_file_is_an_error_of_its_own() -> None:
    problems = [Problem("c.jsonl", f"line {line}", "id", "expected a name") for line in (1, 2)]
    told = "error: c.jsonl, line 1, id: expected a name\nerror: c.jsonl, line 2, id: expected a name\n"
    assert _ended(CaseFileError(problems)) == (2, told)


def test_an_interrupted_command_says_how_to_go_on() -> None:
    assert _ended(KeyboardInterrupt()) == (130, "interrupted; run the same command again to resume\n")


def test_a_pipe_that_nobody_reads_any_more_ends_a_command_without_a_word() -> None:
    assert _ended(BrokenPipeError(errno.EPIPE, "Broken pipe")) == (1, "")


def test_a_choice_that_there_is_not_is_told_in_the_words_of_the_command_line_alone() -> None:
    told = wardround("run", "--progress", "jsn")
    assert told.exit_code == 2 and "Invalid value for '--progress': 'jsn' is not one of 'auto', 'json'" in told.stderr


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    app = typer.Typer(cls=Commands)

    @app.callback(invoke_without_command=True)
    def stops() -> None:
        raise ZeroDivisionError("ours")

    assert isinstance(CliRunner().invoke(app, []).exception, ZeroDivisionError)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_in_place_of_a_file_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    run = write_run(tmp_path / "run", [])
    (run / "results.jsonl").unlink(missing_ok=True)
    os.mkfifo(run / "results.jsonl")
    for command in (
        ["cases", "check", tmp_path / "pipe.jsonl"],
        ["cases", "import", "medqa", tmp_path / "pipe.jsonl", "-o", tmp_path / "out.jsonl"],
        ["report", run],
    ):
        ended = to_its_end(command)
        assert ended.returncode == 2 and "is a named pipe; give a file" in ended.stderr, ended.stderr


@pytest.mark.parametrize("words", [["--out=~/one"], ["--out", "~/one"]])
def test_a_tilde_that_no_shell_expands_is_the_home(words: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    given: list[Path] = []
    app = typer.Typer(cls=Commands)

    @app.callback(invoke_without_command=True)
    def command(out: Path = Path()) -> None:
        given.append(out)

    assert CliRunner().invoke(app, words).exit_code == 0
    assert given == [tmp_path / "one"]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (b"\xff\xfe", "not UTF-8 text"),
        (b"[wardround.plugins]\nno value\n", "missing"),
        (b"[wardround.plugins]\nx = no module!\n", "no attribute"),
    ],
)
def test_an_installed_package_with_broken_metadata_is_named_with_the_remedy(
    entries: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken := tmp_path / "ward_broken-1.0.dist-info").mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: ward-broken\nVersion: 1.0\n", "utf-8")
    (broken / "entry_points.txt").write_bytes(entries)
    monkeypatch.syspath_prepend(tmp_path)
    ended = CliRunner().invoke(app, ["cases", "list"])
    assert ended.exit_code == 2 and ended.stderr.count("\n") == 1
    assert (
        ended.stderr.startswith(f"error: {broken}: METADATA or entry_points.txt is broken: ") and told in ended.stderr
    )
    assert ended.stderr.endswith("; install the package anew, or remove it\n")
