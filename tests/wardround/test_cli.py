"""The command line itself: its version, and the `.env` of the working directory."""

import os
import runpy
import subprocess
import sys
from importlib.metadata import version
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wardround import cli
from wardround.printing import printable

PRINTED = "import os; print(*(os.environ.get(name) for name in ('WARDROUND_API_KEY', 'OPENAI_API_KEY')))"


def environment_after(program: str, folder: Path, **set_before: str) -> str:
    """The two keys as a new process has them after a program."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | set_before
    ended = subprocess.run(
        [sys.executable, "-c", f"{program}\n{PRINTED}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.splitlines()[-1]


COMMAND = """
import sys, wardround.cli
sys.argv = ['wardround', '--version']
try: wardround.cli.main()
except SystemExit: pass
"""


def test_the_package_run_as_a_module_is_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(cli, "main", lambda: begun.append(True))
    runpy.run_module("wardround", run_name="__main__")
    assert begun == [True]


def test_letters_that_a_terminal_lacks_are_written_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = TextIOWrapper(BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    cli.write_as_escapes_what_a_terminal_lacks()
    print("37 °C 中", flush=True)
    assert terminal.buffer.getvalue() == b"37 \\xb0C \\u4e2d\n"  # type: ignore[attr-defined]


def test_bytes_of_a_path_in_another_encoding_are_printed_as_escapes_and_not_left_out() -> None:
    path = "runs/病".encode().decode("ascii", "surrogateescape")
    assert printable(f"Run directory: {path}\x1b[2J") == r"Run directory: runs/\udce7\udc97\udc85[2J"
    assert printable("37 °C\n病\t😀") == "37 °C\n病\t😀"


@pytest.mark.parametrize(
    "group", [(), ("cases",), ("memory",), ("export",), ("experiments",), ("score",)], ids=" ".join
)
def test_the_summary_of_each_command_fits_its_line(group: tuple[str, ...]) -> None:
    told = CliRunner().invoke(cli.app, [*group, "--help"], env={"COLUMNS": "80"}).stdout
    assert "..." not in told.partition("Commands:")[2]


def test_the_version_is_that_of_the_installed_distribution() -> None:
    told = CliRunner().invoke(cli.app, ["--version"])
    assert (told.exit_code, told.stdout) == (0, f"wardround {version('wardround')}\n")


def test_the_command_line_reads_the_environment_file_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# keys\nWARDROUND_API_KEY='of the file'\nOPENAI_API_KEY=\n", "utf-8")
    assert environment_after(COMMAND, tmp_path) == "of the file None", "a name without a value sets nothing"


def test_the_environment_file_overrides_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("WARDROUND_API_KEY=of the file\nOPENAI_API_KEY=too\n", "utf-8")
    assert environment_after(COMMAND, tmp_path, WARDROUND_API_KEY="set") == "set too"


@pytest.mark.parametrize(
    "name",
    ["OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT", "https_proxy",
     "LANGSMITH_ENDPOINT", "WARDROUND_PLUGINS", "WARDROUND_TOKEN", "WARDROUND_CACHE"],
)  # fmt: skip
def test_an_environment_file_says_neither_where_keys_go_nor_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / ".env").write_text(f"OTHER_API_KEY=mine\n{name}=http://127.0.0.1:1/v1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.os, "environ", {})
    with pytest.raises(
        ValueError, match=f"{name} cannot be set in this file, which may set keys only; set it in your shell"
    ):
        cli.read_environment_file()
    assert set(cli.os.environ) <= {"OTHER_API_KEY"}


def test_of_an_environment_file_only_keys_are_taken_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "LAB_TOKEN=a",
        "WARDROUND_API_KEY_API_LAB=b",
        "DATABASE_URL=c",
        "GIT_CONFIG_COUNT=1",
        "SSLKEYLOGFILE=/tmp/k",
    ]
    (tmp_path / ".env").write_text("\n".join([*lines, "OPENAI_API_KEY=${HOME_KEY}"]), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.os, "environ", {"HOME_KEY": "secret"})
    cli.read_environment_file()
    assert cli.os.environ == {
        "HOME_KEY": "secret", "LAB_TOKEN": "a", "WARDROUND_API_KEY_API_LAB": "b", "OPENAI_API_KEY": "${HOME_KEY}",
    }  # fmt: skip


def test_an_environment_file_of_a_folder_above_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("WARDROUND_API_KEY=of the file\n", "utf-8")
    (tmp_path / "below").mkdir()
    assert environment_after(COMMAND, tmp_path / "below") == "None None"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["import wardround", "import graphs, cases, llm"])
def test_importing_reads_no_environment_file(tmp_path: Path, program: str) -> None:
    (tmp_path / ".env").write_text("WARDROUND_API_KEY=of the file\n", "utf-8")
    assert environment_after(program, tmp_path) == "None None"


def test_an_environment_file_that_is_no_text_ends_with_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_bytes(b"KEY=\xff\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: .env: not UTF-8 text")


@pytest.mark.slow
def test_ctrl_c_before_a_command_is_reached_shows_no_traceback(tmp_path: Path) -> None:
    press = "cli.app = lambda: signal.raise_signal(signal.SIGINT)"
    program = f"import signal; from wardround import cli; {press}; cli.main()"
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")
