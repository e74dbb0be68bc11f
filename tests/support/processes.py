"""Processes of their own at a small price: forked from one that has imported the program and has done nothing else."""

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
# What nearly every command comes to import, half a second each.
_THEIRS = ["chromadb", "scipy.stats", "openai.resources.chat", "langchain_openai", "pandas", "PIL.PngImagePlugin"]
_FORKS.set_forkserver_preload([*_OURS, *_THEIRS, "tests.support.processes", "tests.support.warm"])

SECONDS = 120.0  # longer than anything takes that a test starts


class Forked:
    """A command of ours under way: what `subprocess.Popen` gives of it, as far as tests ask.

    A child has its own memory, environment, folder, output and signals; what it shares with others is that the program
    was imported once, which takes longer than most of them run. Leaving the context kills it.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        program: Callable[[], object] = main,
    ) -> None:
        self.arguments = [str(argument) for argument in arguments]
        self._output = [Path(tempfile.mkstemp(prefix="forked-")[1]) for _ in range(2)]
        told = (program, self.arguments, dict(environment or os.environ), folder or Path.cwd(), self._output)
        self._process = _FORKS.Process(target=_run, args=told)
        self._process.start()

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.join()
        for file in self._output:
            file.unlink(missing_ok=True)

    def poll(self) -> int | None:
        """The exit code, below zero for a signal; None while it runs."""
        return self._process.exitcode

    def stopped_when(self, moment: Callable[[], bool], sign: signal.Signals) -> "subprocess.CompletedProcess[str]":
        """Send a signal at a moment and wait for the end."""
        self.told_when(moment, sign)
        return self.ended()

    def told_when(self, moment: Callable[[], bool], sign: signal.Signals) -> None:
        """Send a signal at a moment."""
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
            TimeoutError: it has not come.
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
    """Run ``wardround`` with these arguments in a process of its own."""
    with Forked(arguments, environment, folder) as process:
        return process.ended()


def stopped_when(arguments: Sequence[object], moment: Callable[[], bool], sign: signal.Signals) -> tuple[int, str]:
    """Start ``wardround`` and send it a signal at a moment; its exit code and error stream."""
    with Forked(arguments) as process:
        ended = process.stopped_when(moment, sign)
        return ended.returncode, ended.stderr


def _run(
    program: Callable[[], object], arguments: list[str], environment: dict[str, str], folder: Path, output: list[Path]
) -> None:
    for file, descriptor in zip(output, (1, 2), strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell starts behind it
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["wardround", *arguments]
    program()
