"""``--dry-run``: project the calls, tokens and cost of a run, before any model is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.printing import counted, echo

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Call no model; print the expected number of calls, tokens and cost.")
]


def tell_projection(experiment: "Experiment", out: Path, name: str = "") -> None:
    """Print the expected calls, tokens and cost of a run.

    Raises:
        ConfigurationError: bad configuration or data.
    """
    import asyncio
    from datetime import timedelta

    from wardround.run.projection import project
    from wardround.tables.terminal import print_table

    found = asyncio.run(project(experiment, out))
    if name:
        echo(f"\n{name}")
    print_table(found.table)
    if found.left < found.cases:
        echo(f"{found.cases - found.left} of {found.cases} cases are already done.")
    if not found.measured:
        echo(
            f"Estimated from an offline rehearsal of {counted(found.sample, 'case')}, at four bytes per token. The "
            "output tokens are a lower bound: models use more words than rules do, and repairs and revisions are not "
            "counted. For a better estimate, interrupt the run after some cases (Ctrl-C) and repeat this."
        )
    else:
        echo(
            f"Estimated from the {counted(found.sample, 'case')} so far, at list prices or those of [workflow.prices]."
        )
    if found.seconds is not None:
        echo(f"Time left: {timedelta(seconds=round(found.seconds))} at a concurrency of {experiment.run.concurrency}.")
