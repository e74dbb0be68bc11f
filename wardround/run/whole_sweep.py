"""What the runs of a sweep have in common: they are checked before the first begins, and share a cluster."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import Sweep
from wardround.config.preflight import check_keys, check_servers
from wardround.config.selection import select
from wardround.printing import reason
from wardround.run.own_loop import in_own_loop
from wardround.run.sweep import write_order


def check_all(sweep: Sweep, root: Path) -> None:
    """Check keys, cases and servers of all runs of a sweep before the first is run, and record their order.

    Raises:
        ConfigurationError: one of them cannot be used, or the directory cannot be written.
    """
    check_keys([experiment.context for experiment in sweep.runs.values()])
    if sweep.single:
        return
    for experiment in sweep.runs.values():
        select(experiment.data)
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
