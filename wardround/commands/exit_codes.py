"""How every command ends: errors as one line, with exit codes for scripts."""

import errno
import importlib.metadata
import os
import re
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from wardround.commands.plugin_options import WithPlugins
from wardround.printing import echo, reason

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
_METADATA = importlib.metadata.__name__
_HOMELESS = "Could not determine home directory."  # of `Path.home()`, as for a container's user without a name
_TYPER_ERRORS = (typer.Exit, typer.Abort, *typer.BadParameter.__bases__)  # the last are typer's own usage errors


def end_gently() -> None:
    """Treat the end of a session or of a machine's time (SIGTERM, SIGHUP) like Ctrl-C, unless the signal is ignored.

    In the background of a shell, SIGINT is ignored. Here it is blocked instead: asyncio, which lets its tasks finish,
    looks for Python's own handler, and an exception raised inside its loop may leave a task waiting for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        signal_number = getattr(signal, name, None)
        if signal_number is not None and signal.getsignal(signal_number) is signal.SIG_DFL:
            signal.signal(signal_number, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Act like Ctrl-C, even where SIGINT is blocked."""
    control_c = signal.getsignal(signal.SIGINT)
    (control_c if callable(control_c) else signal.default_int_handler)(signal.SIGINT, frame)


class Refusal(Exception):
    """What a command ends with: its messages, a line each on standard error, and its exit code."""

    def __init__(self, *messages: str, code: int = BAD_INPUT) -> None:
        """Keep the messages, in which keys are masked."""
        from llm.masking import masked

        self.messages, self.code = [*map(masked, messages)], code
        super().__init__("\n".join(self.messages))


def refuse(*messages: str, code: int = BAD_INPUT) -> NoReturn:
    """End a command with code 2 (or another), and with these messages.

    Raises:
        Refusal: always.
    """
    raise Refusal(*messages, code=code)


def fail_if(some_failed: object) -> None:
    """End a command with code 1 if some of its cases failed; the others are done."""
    if some_failed:
        raise typer.Exit(SOME_FAILED)


class Commands(WithPlugins, TyperGroup):
    """A command group that reports errors in one line, without a traceback.

    Exit codes: 2 if input, configuration or a file is bad and nothing was run; 1 if a run could no longer be written,
    or a server refuses all questions; 130 if interrupted.
    """

    def make_context(self, info_name: str | None, args: Sequence[str], *given: Any, **more: Any) -> Any:
        """Parse the command line up to the command's name, which may follow ``--plugin`` options."""
        with _errors_in_one_line():
            _refuse_empty(args)
            return super().make_context(info_name, [*map(_in_home, args)], *given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _errors_in_one_line():
            return super().invoke(ctx)


def group_of_commands(help: str) -> typer.Typer:
    """Return an empty group whose errors end as those of all commands do."""
    return typer.Typer(cls=Commands, help=help, no_args_is_help=True, rich_markup_mode=None)


def _refuse_empty(words: Sequence[str]) -> None:
    """Refuse an empty argument: as a path it would be the working directory, which a run would fill.

    Raises:
        Refusal: there is one; names its option, or the word before it.
    """
    for before, word in pairwise(("wardround", *words)):
        if not word or re.fullmatch(r"--[\w-]+=", word):
            option = word[:-1] or (before if before.startswith("-") else f"the argument after {before}")
            refuse(f"{option}: is empty; give a value, or leave it out (is a variable of the shell not set?)")


def _in_home(word: str) -> str:
    """Expand ``~/`` where a shell does not: in ``--out=~/runs``, and in what a program passes on."""
    return re.sub(r"\A(--[\w-]+=)?~(?=/|\Z)", lambda found: f"{found[1] or ''}{Path.home()}", word)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted; run the same command again to resume", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of the output (`head`) has read enough; typer exits silently with 1
        raise
    except Exception as error:
        if broken := _broken_package(error):
            echo(f"error: {broken}", err=True)
            raise typer.Exit(BAD_INPUT) from error
        if isinstance(error, typer.BadParameter):
            from cases.validation import as_said

            error.message = as_said(error.message)
        if isinstance(error, _TYPER_ERRORS) or (refusal := _refusal_of(error)) is None:
            raise
        for message in refusal.messages:
            echo(f"error: {message}", err=True)
        raise typer.Exit(refusal.code) from error


def _broken_package(error: Exception) -> str:
    """Return which installed package has metadata that raised the error, and the remedy; else "".

    Libraries read the metadata of all packages when they are imported, so nothing of ours may be imported here.
    """
    if not any(frame.f_globals.get("__name__") == _METADATA for frame, _ in traceback.walk_tb(error.__traceback__)):
        return ""
    for package in importlib.metadata.distributions():
        try:
            points = package.entry_points.select(group="wardround.plugins")
            _ = package.metadata, [point.module for point in points]
        except Exception as why:  # whatever the file holds
            place = f"{getattr(package, '_path', 'a package')}: METADATA or entry_points.txt is broken"
            return f"{place}: {reason(why)}; install the package anew, or remove it"
    return ""


def _refusal_of(error: Exception) -> Refusal | None:
    """Return what a command says of an error and ends with; None of an error of ours."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, FileNotFoundError) and error.errno and not error.filename:
        if error.strerror != os.strerror(errno.ENOENT):  # of `tempfile`, which names the folders that it tried
            return Refusal(f"{error.strerror}; make room there, or set TMPDIR to a folder that can be written")
        # Of `os.getcwd()`.
        return Refusal("the current folder has been deleted or moved away; change to another")
    if isinstance(error, OSError):
        return Refusal(f"{error.filename}: {reason(error)}" if error.filename else reason(error))
    if isinstance(error, MemoryError):
        return Refusal("there is not enough memory; give smaller files, or raise its limit (`ulimit -v`)")
    if isinstance(error, RuntimeError) and str(error) == _HOMELESS:
        return Refusal("this user has no home folder, which libraries look for; set HOME to a folder")
    if isinstance(error, UnicodeEncodeError):  # a file name of another encoding, which no record can hold
        if error.reason != "surrogates not allowed":
            return None
        before, after = error.object[: error.start].rpartition('"')[2], error.object[error.start :].partition('"')[0]
        name = f"{before}{after}".encode(errors="backslashreplace").decode()
        return Refusal(f"{name}: is not valid Unicode; rename the file or folder")
    # Imported only now, so that `--help` need not wait for them.
    from cases.files import CaseFileError
    from cases.problems import shortened
    from cases.validation import InputError
    from prompts import PromptError

    if isinstance(error, CaseFileError):
        return Refusal(*map(str, shortened(error.problems)))
    if isinstance(error, InputError | PromptError):  # before the imports below, which may have raised it
        return Refusal(str(error))
    from llm.errors import RefusedError
    from wardround.store.durable_lines import RunStoppedError

    return Refusal(str(error), code=SOME_FAILED) if isinstance(error, RunStoppedError | RefusedError) else None
