"""``--dry-run``: project the calls, tokens and cost of a run, before any model is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.exit_codes import refuse
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Call no model; print the expected number of calls, tokens and cost.")
]
Like = Annotated[
    Path | None, typer.Option(metavar="RUN", help="With --dry-run: estimate from this smaller run, including the time.")
]


def check_like(dry_run: bool, like: Path | None) -> None:
    """Refuse ``--like`` without ``--dry-run``, as it would have no effect."""
    if like is not None and not dry_run:
        refuse(f"--like {like}: needs --dry-run; add it, or leave --like out")


def tell_projection(experiment: "Experiment", out: Path, like: Path | None, name: str = "") -> None:
    """Print the expected calls, tokens and cost of a run.

    Raises:
        ConfigurationError: bad configuration or data.
    """
    import asyncio

    from wardround.run.projection import project
    from wardround.tables.terminal import print_table

    projected = asyncio.run(project(experiment, out, like))
    if name:
        echo(f"\n{name}")
    print_table(projected)
