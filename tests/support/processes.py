"""Separate processes at low cost: forked from one that has imported the program and done nothing else."""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from wardround.cli import main

_FORKS = multiprocessing.get_context("forkserver")
_OURS = ["wardround.cli", "wardround.run.runner", "wardround.commands.run", "graphs", "scoring"]
# Imported by nearly every command, half a second each.
_THEIRS = ["chromadb", "scipy.stats", "openai.resources.chat", "langchain_openai", "pandas", "PIL.PngImagePlugin"]
_FORKS.set_forkserver_preload([*_OURS, *_THEIRS, "tests.support.processes", "tests.support.warm"])

SECONDS = 120.0  # longer than any process of a test runs


class Forked:
    """A running command, with the part of `subprocess.Popen`'s interface that tests need.

    The child has its own memory, environment, folder, output and signals. It shares only the import of the program,
    which takes longer than most commands run. Leaving the context kills it.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        program: Callable[[], object] = main,
    ) -> None:
        self.arguments = [str(argument) for argument in arguments]
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")  # removed with this object at the latest
        self._output = [Path(self._folder.name) / stream for stream in ("stdout", "stderr")]
        for file in self._output:
            file.touch()
        args = (program, self.arguments, dict(environment or os.environ), folder or Path.cwd(), self._output)
        self._process = _FORKS.Process(target=_run, args=args)
        self._process.start()

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.join()
        self._folder.cleanup()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def stopped_when(self, moment: Callable[[], bool], sign: signal.Signals) -> "subprocess.CompletedProcess[str]":
        """Send a signal when ``moment`` is true, and wait for the end."""
        self.told_when(moment, sign)
        return self.ended()

    def told_when(self, moment: Callable[[], bool], sign: signal.Signals) -> None:
        """Send a signal when ``moment`` is true."""
        deadline = time.monotonic() + SECONDS
        while not moment():
            assert self.poll() is None, f"it ended before the moment: {self.ended().stderr}"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        assert self._process.pid
        os.kill(self._process.pid, sign)

    def ended(self, seconds: float = SECONDS) -> "subprocess.CompletedProcess[str]":
        """Wait for the end.

        Raises:
            TimeoutError: it is still running.
        """
        self._process.join(seconds)
        code = self.poll()
        if code is None:
            raise TimeoutError(
                f"{self.arguments} has not ended after {seconds} s: {self._output[1].read_text('utf-8')}"
            )
        stdout, stderr = (file.read_text("utf-8") for file in self._output)
        return subprocess.CompletedProcess(self.arguments, code, stdout, stderr)


def to_its_end(
    arguments: Sequence[object], environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``wardround`` with these arguments in a separate process."""
    with Forked(arguments, environment, folder) as process:
        return process.ended()


def stopped_when(arguments: Sequence[object], moment: Callable[[], bool], sign: signal.Signals) -> tuple[int, str]:
    """Start ``wardround``, send it a signal when ``moment`` is true, and return exit code and stderr."""
    with Forked(arguments) as process:
        ended = process.stopped_when(moment, sign)
        return ended.returncode, ended.stderr


def _run(
    program: Callable[[], object], arguments: list[str], environment: dict[str, str], folder: Path, output: list[Path]
) -> None:
    for file, descriptor in zip(output, (1, 2), strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by a shell's background processes
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["wardround", *arguments]
    program()
