"""``--dry-run``: project the calls, tokens and cost of a run, before any model is called."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wardround.commands.exit_codes import refuse
from wardround.printing import echo

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment
    from wardround.config.selection import Selection
    from wardround.tables.table import Table

DryRun = Annotated[
    bool, Option("--dry-run", help="Call no model; print the expected number of calls, tokens and cost.")
]
Like = Annotated[
    Path | None, Option(metavar="RUN", help="With --dry-run: estimate from this smaller run, including the time.")
]


def check_like(dry_run: bool, like: Path | None) -> None:
    """Refuse ``--like`` without ``--dry-run``, as it would have no effect."""
    if like is not None and not dry_run:
        refuse(f"--like {like}: needs --dry-run; add it, or leave --like out")


def tell_projection(
    experiment: "Experiment", out: Path, like: Path | None, name: str = "", selection: "Selection | None" = None
) -> "Table":
    """Print the expected calls, tokens and cost of a run, and return the table of them, whose last row is the total.

    Raises:
        ConfigurationError: bad configuration or data.
    """
    import asyncio

    from wardround.run.projection import project
    from wardround.tables.terminal import print_table

    projected = asyncio.run(project(experiment, out, like, selection))
    if name:
        echo(f"\n{name}")
    print_table(projected)
    return projected


def tell_total(runs: Sequence["Table"]) -> None:
    """Print what the runs of a sweep are expected to take together."""
    totals = [run.rows[-1] for run in runs]
    calls, read, written = (sum(one[name] for one in totals) for name in ("calls", "input_tokens", "output_tokens"))
    known = [one["cost"] for one in totals if not math.isnan(one["cost"])]
    unpriced = sorted({row["model"] for run in runs for row in run.rows[:-1] if math.isnan(row["cost"])})
    without = f" without {', '.join(unpriced)}" if unpriced else ""
    cost = f", {sum(known):,.2f} US dollars{without}" if known else ""
    echo(f"\nAll {len(runs)} runs: {calls:,.0f} calls, {read:,.0f} input and {written:,.0f} output tokens{cost}.")
