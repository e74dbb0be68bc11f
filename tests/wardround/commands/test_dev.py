import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wardround.cli import app
from wardround.commands.dev import _START, _allowed, _configuration
from wardround.commands.exit_codes import Refusal


def test_servers_started_in_the_same_moment_each_find_their_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    with ThreadPoolExecutor(8) as starts:
        files = list(starts.map(_configuration, [[]] * 32))
    assert all("graphs" in json.loads(file.read_text("utf-8")) for file in files)


@pytest.mark.parametrize("token", ["short", "with/a/slash/in/it"])
def test_an_unusable_token_is_refused_before_the_server_starts(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARDROUND_TOKEN", token)
    with pytest.raises(Refusal, match="WARDROUND_TOKEN: expected at least 16 characters"):
        _allowed([], [], False)


def test_a_folder_without_a_model_is_refused_before_the_server_starts(tmp_path: Path) -> None:
    for folder, why in ((tmp_path / "missing", "is not a folder on this machine"), (tmp_path, "is not a model")):
        with pytest.raises(Refusal, match=re.escape(f"--allow models=hf:{folder}: hf:{folder} {why}")):
            _allowed([f"models=hf:{folder}"], [], False)
    assert _allowed(["models=hf:*"], [], False).values == {"models": ("hf:*",)}


def test_a_file_in_the_users_folder_is_allowed_as_runs_name_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.jsonl").touch()
    allowed = _allowed(["case_source=~/mine.jsonl", "example=~/mine.txt"], [], False)
    assert allowed.admits("case_source", f"{tmp_path}/mine.jsonl")
    assert allowed.admits("example", f"{tmp_path}/mine.txt")


def test_a_setting_that_no_run_on_a_server_has_cannot_be_allowed() -> None:
    with pytest.raises(Refusal, match=r"--allow trace_file=calls\.jsonl: expected SETTING=VALUE, where SETTING is one"):
        _allowed(["trace_file=calls.jsonl"], [], False)


def test_studio_is_not_opened_where_nothing_may_leave_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.egress._closed", True)
    refused = CliRunner().invoke(app, ["dev", "--browser"])
    assert refused.exit_code == 2 and "--browser opens a page of another machine" in refused.stderr


def test_windows_is_refused_before_the_command_is_taken_apart_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `execv` puts words with spaces on the new command line without quotation marks."""
    monkeypatch.setattr(sys, "platform", "win32")
    refused = CliRunner().invoke(app, ["dev"])
    assert refused.exit_code == 2 and "does not start on Windows" in refused.stderr and "WSL" in refused.stderr


def test_no_file_in_the_working_directory_is_taken_for_a_package_present_or_absent(tmp_path: Path) -> None:
    """The server ran `a2wsgi.py` of any folder that it was started in, as uvicorn tries to import it."""
    for name in ("langgraph", "a2wsgi"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken')", "utf-8")
    # LangGraph's command appends the working directory to the path before it imports the rest.
    server = "sys.path.append(sys.argv[1]); import langgraph.graph, uvicorn.middleware.wsgi"
    started = _START.replace("from langgraph_cli.cli import cli", "").replace("cli()", server)
    done = subprocess.run([sys.executable, "-P", "-c", started, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_stops_the_server_so_that_it_keeps_its_runs_unless_it_is_to_go_on(ignored: bool) -> None:
    server = "signal.signal(signal.SIGTERM, lambda *_: print('stopped')); signal.raise_signal(signal.SIGHUP)"
    started = _START.replace("from langgraph_cli.cli import cli", "").replace("cli()", server)
    at_first = "SIG_IGN" if ignored else "SIG_DFL"  # ignored under `nohup`, where these tests may run too
    started = f"import signal; signal.signal(signal.SIGHUP, signal.{at_first})\n{started}"
    done = subprocess.run([sys.executable, "-P", "-c", started], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "" if ignored else "stopped\n", "")


@pytest.mark.parametrize("level", [None, "INFO"])
def test_the_server_logs_warnings_alone_unless_asked_for_more(
    level: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("os.execv", lambda *_: started.append(os.environ["LOG_LEVEL"]))
    monkeypatch.setattr("os.environ", {**os.environ, "WARDROUND_CACHE": str(tmp_path)})
    monkeypatch.delenv("LOG_LEVEL", raising=False)
    if level:
        monkeypatch.setenv("LOG_LEVEL", level)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["dev", "--port", "0"]).exit_code == 0
    assert started == [level or "WARNING"]
