"""How every command ends: bad input and faults as one line, with the exit code that scripts know."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from wardround.commands.plugin_options import WithPlugins
from wardround.commands.printing import echo

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
_SAID = (typer.Exit, typer.Abort, *typer.BadParameter.__bases__)  # the last: typer's own words for a wrong usage


def end_gently() -> None:
    """Take the end of a session or of a machine's time (SIGTERM, SIGHUP) as Ctrl-C; what was told to ignore it does.

    Behind a shell Ctrl-C is ignored. It still is, but by being held back: asyncio, which lets its tasks come to their
    ends, looks for Python's own handler, and an error raised in the middle of its loop may leave one waiting for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        sign = getattr(signal, name, None)
        if sign is not None and signal.getsignal(sign) is signal.SIG_DFL:
            signal.signal(sign, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """As Ctrl-C does, also where that is held back."""
    control_c = signal.getsignal(signal.SIGINT)
    (control_c if callable(control_c) else signal.default_int_handler)(signal.SIGINT, frame)


def refuse(*messages: str) -> NoReturn:
    """End with code 2: one line on standard error for each thing that is wrong."""
    from llm.masking import masked

    for message in messages:
        echo(f"error: {masked(message)}", err=True)
    raise typer.Exit(BAD_INPUT)


class Commands(WithPlugins, TyperGroup):
    """Commands of which each says what stopped it, without a traceback.

    It ends with 2 if the input, the configuration or a file is bad and nothing was run; 1 if a run could not be kept on
    the disk any more, or a server takes no question; 130 if it was interrupted.
    """

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the command line as far as the name of a command; plug-ins may stand before it."""
        with _one_line_of_each_error():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _one_line_of_each_error():
            return super().invoke(ctx)


@contextmanager
def _one_line_of_each_error() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted; run the same command again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # who reads what is printed (`head`) has read enough: typer ends with 1, without a word
        raise
    except OSError as error:
        refuse(f"{error.filename} cannot be used: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if isinstance(error, _SAID):
            raise
        # Imported now, as a command that is only asked for its help must not wait for them.
        from cases.registry import RegistryError
        from prompts import PromptError

        if isinstance(error, (RegistryError, PromptError)):  # without what may have raised it when it was imported
            refuse(str(error))
        from cases import CaseFileError
        from cases.files import shortened
        from llm import ModelSpecError, RefusedError
        from llm.masking import masked
        from retrieval import CaseMemoryError, EmbeddingModelError
        from scoring.metrics.icd10_terms import TermListError
        from scoring.metrics.samples import MissingBackendError
        from wardround.config.experiment import ConfigurationError
        from wardround.plugins import PluginError
        from wardround.store.durable_lines import RunStoppedError
        from wardround.tuning.configuration import TuningError

        if isinstance(error, CaseFileError):
            refuse(*map(str, shortened(error.problems)))
        bad = (ConfigurationError, ModelSpecError, CaseMemoryError, EmbeddingModelError)
        if isinstance(error, (*bad, PluginError, MissingBackendError, TermListError, TuningError)):
            refuse(str(error))
        if not isinstance(error, RunStoppedError | RefusedError):
            raise
        echo(f"error: {masked(str(error))}", err=True)
        raise typer.Exit(SOME_FAILED) from None
