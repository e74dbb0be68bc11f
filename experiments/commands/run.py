"""``wardround run``: many cases through the workflow, into a run directory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from experiments.run_directory import Result

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def run(
    experiment: Annotated[
        Path | None, typer.Argument(metavar="[EXPERIMENT.toml]", help="An experiment file.", show_default=False)
    ] = None,
    cases: Annotated[str | None, typer.Option(help="A case file, or 'builtin'.", show_default="builtin")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Run the first so many cases.")] = None,
    case_id: Annotated[list[str] | None, typer.Option(help="Run only this case; may be repeated.")] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="The model of a role, or of all (default=SPEC); may be repeated."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as feedback=off; may be repeated."),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Cases at once.", show_default="4")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Runs of each case.", show_default="1")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run directory.", show_default="runs/<name>-<fingerprint>")
    ] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Where the cases run.")] = "local",
) -> None:
    """Run an experiment, or the built-in test cases offline, and print the scores of each stage.

    Running the same command again goes on where it stopped.
    """
    import asyncio

    from rich.console import Console

    from cases import CaseFileError
    from experiments.configuration import ConfigurationError, parse_models, parse_settings, read_experiment
    from experiments.run_directory import RunStoppedError, default_directory
    from models import ModelSpecError
    from retrieval import CaseMemoryError, EmbeddingModelError

    options: dict[str, Any] = {
        "data.cases": cases,
        "data.limit": limit,
        "data.case_ids": case_id,
        "run.concurrency": concurrency,
        "epochs": epochs,
    }
    console = Console(stderr=True)
    try:
        if engine == "ray":
            raise ConfigurationError("--engine ray: not built yet; run with --engine local")
        overrides = {key: value for key, value in options.items() if value is not None}
        settings = parse_settings(set_ or [])
        read = read_experiment(experiment, {**overrides, **settings}, parse_models(models or []))

        from experiments.runner import run_experiment
        from experiments.summary import summary_table

        directory = out or default_directory(read)
        with _progress(console) as on_result:
            summary = asyncio.run(run_experiment(read, directory, on_result))
    except (ConfigurationError, CaseFileError, ModelSpecError, CaseMemoryError, EmbeddingModelError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except RunStoppedError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(SOME_FAILED) from None
    except KeyboardInterrupt:
        typer.echo("interrupted; run the same command again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    Console().print(summary_table(summary))
    typer.echo(f"Run directory: {directory}")
    if summary["failed"]:
        raise typer.Exit(SOME_FAILED)


class _progress:
    """A progress bar on a terminal, plain lines elsewhere."""

    def __init__(self, console: Any) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console = console
        self._failed = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Any:
        self._bar.start()
        return self.report

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, result: "Result", done: int, total: int) -> None:
        """One more case is done."""
        from experiments.commands.printing import printable

        self._failed += not result.scored
        said = f"{done - self._failed} cases done" + (f", {self._failed} failed" if self._failed else "")
        self._bar.update(self._task, description=said, completed=done, total=total)
        if not self._console.is_terminal:
            said = f"{done}/{total} {result.case_id} epoch {result.epoch}: {result.termination}"
            self._console.print(printable(said), markup=False, soft_wrap=True)
        elif not result.scored:
            said = f"{result.case_id}: {result.termination}: {result.error}"
            self._console.print(printable(said), markup=False)
