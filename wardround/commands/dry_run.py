"""``--dry-run``: project the calls, tokens and cost of a run, before any model is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.exit_codes import refuse
from wardround.commands.printing import counted, echo

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
    from datetime import timedelta

    from wardround.run.projection import project
    from wardround.tables.terminal import print_table

    found = asyncio.run(project(experiment, out, like))
    if name:
        echo(f"\n{name}")
    print_table(found.table)
    if found.left < found.cases:
        echo(f"{found.cases - found.left} of {found.cases} cases are already done.")
    if found.measured is None:
        echo(
            f"Estimated from an offline rehearsal of {counted(found.sample, 'case')}, at four bytes per token. The "
            "output tokens are a lower bound: models use more words than rules do, and repairs and revisions are not "
            "counted. For a better estimate, run a few cases and pass that run with --like."
        )
    else:
        echo(
            f"Estimated from {counted(found.sample, 'case')} of {found.measured}, at list prices or those of "
            "[workflow.prices]."
        )
    if found.seconds is not None:
        echo(f"Time left: {timedelta(seconds=round(found.seconds))} at a concurrency of {experiment.run.concurrency}.")
