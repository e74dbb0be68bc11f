"""What is installed works where a research repository has folders of its own with names like ours were."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphs.catalogue import served
from tests.docs.first_run import SHOWN, scores_in
from tests.support.fake_server import FakeServer
from tests.support.studio import TOKEN
from tests.test_architecture import FLOOR

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SECONDS = 300.0
# Modules that others have: whoever imports one of them by mistake is told so.
THEIRS = ("models.py", "evaluation/__init__.py", "experiments/__init__.py", "utils.py", "config.py")


@dataclass
class Environment:
    """A virtual environment with the dependencies of this one, and nothing of ours but what is installed there."""

    folder: Path

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    def run(self, *command: object, cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=self.variables(**variables),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended

    def variables(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return {**kept, "WARDROUND_CACHE": str(self.folder / "cache"), **more}

    def install(self, *what: object) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.programs / "python"]
        self.run(*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", *what, cwd=self.folder)


def environment(folder: Path) -> Environment:
    """A new one. The path file leads to the packages of this one, whose own path files (our clone) are not read."""
    venv.create(folder)
    made = Environment(folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return made


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository as a clone would have them, in a folder called like the package."""
    place = tmp_path_factory.mktemp("clone") / "wardround"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / name)
    return place


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", made, clone]
    environment(made / "builder").run(*build, cwd=made)
    (found,) = made.glob("wardround-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = environment(tmp_path_factory.mktemp("installed") / "venv")
    made.install(wheel)
    return made


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The working directory of somebody's own project."""
    for name in THEIRS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"raise RuntimeError('{name} is not the one that was meant')\n")
    return tmp_path


def test_the_wheel_holds_every_file_of_our_rooms_and_says_that_they_are_typed(wheel: Path, clone: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    rooms = {file.relative_to(clone).as_posix() for room in FLOOR for file in (clone / room).rglob("*")}
    assert packed == {name for name in rooms if (ROOT / name).is_file() and "__pycache__" not in name}
    assert {f"{room}/py.typed" for room in FLOOR} <= packed


def test_the_main_job_of_the_readme_prints_what_it_shows_and_its_example_runs_beside_modules_of_others(
    installed: Environment, elsewhere: Path
) -> None:
    """In one process, which imports for longer than it plays; the command itself starts the server, below.

    No similar cases for the example: what its patient says is new, and to embed it would import PyTorch.
    """
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    with FakeServer() as server:
        models = re.sub(r'"openai:[^"]*"', f'"openai:any@{server.base_url}"', example)
        models = models.replace("context={", 'context={"retrieval": False,')
        *lines, last = models.rstrip().split("\n")
        example = [*lines, "import json, graphs", f"print(json.dumps([graphs.__file__, {last}]))"]
        program = "\n".join([*example, "from wardround.cli import main", "main()"])
        told = installed.run(installed.programs / "python", "-c", program, "run", cwd=elsewhere).stdout
    said, _, job = told.partition("\n")
    assert SHOWN.findall(README) == [scores_in(job)], "`python -m tests.docs.first_run` writes it anew"
    where, names, items, tokens = json.loads(said)
    assert Path(where).is_relative_to(installed.folder)
    assert names and items and tokens > 0 and len(server.requests) > 20


def test_the_development_server_starts_from_what_is_installed(installed: Environment, elsewhere: Path) -> None:
    pytest.importorskip("langgraph_api", reason="the studio extra is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(installed.programs / "wardround"), "dev", "--port", str(port)]
    log = elsewhere / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=elsewhere, env=installed.variables(WARDROUND_TOKEN=TOKEN), stdout=out, stderr=subprocess.STDOUT
        )
    try:
        assert {assistant["graph_id"] for assistant in assistants(server, port, log)} == set(served())
        server.send_signal(signal.SIGINT)
        server.wait(60)
    finally:
        server.kill()
        server.wait(60)


def assistants(server: "subprocess.Popen[bytes]", port: int, log: Path) -> list[dict[str, str]]:
    """What the server lists, as soon as it listens."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/{TOKEN}/assistants/search", b'{"limit": 100}', {"Content-Type": "application/json"}
    )
    deadline = time.monotonic() + SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                found: list[dict[str, str]] = json.load(reply)
                return found
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text("utf-8", "replace")[-4000:])


def test_a_clone_in_a_folder_called_like_the_package_is_importable_from_its_parent(clone: Path, tmp_path: Path) -> None:
    made = environment(tmp_path / "venv")
    made.install("--editable", clone)
    program = "import wardround, graphs; print(wardround.__file__, graphs.__file__)"
    told = made.run(made.programs / "python", "-c", program, cwd=clone.parent).stdout.split()
    assert told == [str(clone / "wardround" / "__init__.py"), str(clone / "graphs" / "__init__.py")]
