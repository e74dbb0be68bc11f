"""How every command ends: bad input and faults as one line, with the exit code that scripts know."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from wardround.commands.printing import echo

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def end_gently() -> None:
    """Take the end of a session or of a machine's time (SIGTERM, SIGHUP) as Ctrl-C; what was told to ignore it does."""
    for name in ("SIGTERM", "SIGHUP"):
        sign = getattr(signal, name, None)
        if sign is not None and signal.getsignal(sign) is signal.SIG_DFL:
            signal.signal(sign, _interrupt)


def _interrupt(*_: object) -> None:
    """As Ctrl-C does, also where a shell has that ignored: in what runs behind it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def refuse(*messages: str) -> NoReturn:
    """End with code 2: one line on standard error for each thing that is wrong."""
    from llm.masking import masked

    for message in messages:
        echo(f"error: {masked(message)}", err=True)
    raise typer.Exit(BAD_INPUT)


@contextmanager
def exits(*refused: type[Exception]) -> Iterator[None]:
    """Say what stopped a command, without a traceback.

    Args:
        refused: what is bad input to this command besides what is to all.

    Raises:
        typer.Exit: 2 if the input or the configuration is bad and nothing was run; 1 if a run could not be kept on the
            disk any more, or a server takes no question; 130 if it was interrupted. The same command goes on.
    """
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted; run the same command again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        # Imported now, as a command that is only asked for its help must not wait for them.
        from cases import CaseFileError
        from cases.registry import RegistryError
        from llm import ModelSpecError, RefusedError
        from llm.masking import masked
        from retrieval import CaseMemoryError, EmbeddingModelError
        from wardround.config.experiment import ConfigurationError
        from wardround.store.durable_lines import RunStoppedError

        bad = (ConfigurationError, CaseFileError, RegistryError, ModelSpecError, CaseMemoryError, EmbeddingModelError)
        if isinstance(error, (*bad, *refused)):
            refuse(str(error))
        if not isinstance(error, RunStoppedError | RefusedError):
            raise
        echo(f"error: {masked(str(error))}", err=True)
        raise typer.Exit(SOME_FAILED) from None
