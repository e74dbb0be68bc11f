"""``--dry-run``: project what a run will take, before any model is asked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.printing import counted, echo

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask nobody; print the calls, tokens and cost that it will take.")
]
Like = Annotated[
    Path | None, typer.Option(metavar="RUN", help="With --dry-run: project from what this smaller run took, time too.")
]


def check_like(dry_run: bool, like: Path | None) -> None:
    """Refuse an option that would have no effect.

    Raises:
        ConfigurationError: ``--like`` without ``--dry-run``.
    """
    from wardround.config.experiment import ConfigurationError

    if like is not None and not dry_run:
        raise ConfigurationError(f"--like {like}: belongs to --dry-run, which asks nobody")


def tell_projection(experiment: "Experiment", out: Path, like: Path | None, name: str = "") -> None:
    """Print what a run will take.

    Raises:
        ConfigurationError: bad configuration or data.
    """
    import asyncio
    from datetime import timedelta

    from wardround.run.projection import project
    from wardround.tables.terminal import print_table

    found = asyncio.run(project(experiment, out, like))
    if name:
        echo(f"\n{name}")
    print_table(found.table)
    if found.left < found.cases:
        echo(f"{found.cases - found.left} of {found.cases} cases are done already.")
    if found.measured is None:
        echo(
            f"Estimated from {counted(found.sample, 'case')} that rules went through: four bytes a token; what is "
            "written is a lower bound, as models use more words, and repairs and revisions are not counted. Run a few "
            "cases and name that run with --like to project from what they took."
        )
    else:
        echo(f"From {counted(found.sample, 'case')} of {found.measured}, at list prices or those of [workflow.prices].")
    if found.seconds is not None:
        echo(f"Time left: {timedelta(seconds=round(found.seconds))} at a concurrency of {experiment.run.concurrency}.")
