"""What the runs of a sweep have in common: they are checked before the first begins, share a cluster, and have tables.

The command and Python's `run_sweep` do the same; only the command prints.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from llm.build import without_seed
from llm.prices import unpriced
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import Sweep
from wardround.config.preflight import check_keys, check_servers
from wardround.config.selection import select
from wardround.printing import reason
from wardround.run.own_loop import in_own_loop
from wardround.run.runner import check_resumable
from wardround.run.sweep import write_order
from wardround.store.durable_lines import writing

if TYPE_CHECKING:
    from wardround.tables.making import Made


def warnings_of(sweep: Sweep) -> Iterator[str]:
    """Yield which prices are unknown, which models take no seed, and which seeds runs share."""
    contexts = [one.context for one in sweep.runs.values()]
    for spec in sorted({spec for context in contexts for spec in unpriced(context.models, context)}):
        yield f"no price is known for {spec}, so its cost will be missing; set it in [workflow.prices]"
    for spec in sorted({spec for context in contexts for spec in without_seed(context.models, context)}):
        yield f"{spec}: the run's seed is not sent to it, so its answers may differ between runs"
    if shared := sweep.shared_seeds:
        apart = max(one.epochs for one in sweep.runs.values())
        numbers = ", ".join(map(str, shared))
        yield (
            f"each epoch adds its number to the seed, so runs with different seeds share the seeds {numbers}: a model "
            f"that heeds its seed repeats itself there; choose seeds at least {apart} apart"
        )


def check_all(sweep: Sweep, root: Path) -> None:
    """Check keys, cases, servers and directories of all runs of a sweep before the first, and record their order.

    Raises:
        ConfigurationError: one of them cannot be used, a run that has begun was another, or ``root`` cannot be written.
    """
    check_keys([experiment.context for experiment in sweep.runs.values()])
    if sweep.single:
        return
    for name, experiment in sweep.runs.items():
        in_own_loop(check_resumable(experiment, root / name, select(experiment.data)))
        in_own_loop(check_servers(experiment.context))
    try:
        write_order(sweep, root)
    except OSError as error:
        raise ConfigurationError(f"{root}: cannot be written: {reason(error)}") from error


def shared_cluster(sweep: Sweep) -> AbstractContextManager[object]:
    """Open one cluster for all runs of a sweep that use the same address, so that its workers start once."""
    runs = sweep.runs.values()
    addresses = {one.run.address for one in runs if one.run.engine == "ray"}
    if len(runs) == 1 or len(addresses) != 1:
        return nullcontext()
    from wardround.run.engines.ray import connected

    return connected(addresses.pop())


def make_and_write_tables(sweep: Sweep, root: Path) -> "list[Made]":
    """Make the tables that the file names, or the scores of several runs, and write them into the folder ``tables``.

    Raises:
        RunStoppedError: they cannot be written.
    """
    from wardround.store.recorded_run import find_runs
    from wardround.tables.making import make_tables, write_tables

    if not (names := sweep.tables or (() if sweep.single else ("scores",))):
        return []
    made = make_tables(find_runs([root / name for name in sweep.runs]), names)
    with writing(root / "tables"):
        write_tables((table for one in made for table in one.tables), root / "tables")
    return made
