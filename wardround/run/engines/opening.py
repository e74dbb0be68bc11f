"""Which engine an experiment runs on."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from nodes.context import Context
from wardround.config.experiment import Experiment
from wardround.config.selection import Item
from wardround.run.engines.local import run_here
from wardround.run.engines.work import RunCases


@asynccontextmanager
async def open_engine(experiment: Experiment, context: Context, items: Sequence[Item]) -> AsyncIterator[RunCases]:
    """Make ready what the experiment is to run on, and refuse what cannot work, before anything is written.

    Args:
        experiment: its ``run.engine`` says where.
        context: the context that its items have in common.
        items: all of them.

    Raises:
        ConfigurationError: the engine is not installed, cannot be reached or cannot run this experiment.
    """
    if experiment.run.engine == "local":
        yield partial(run_here, experiment)
    else:
        from wardround.run.engines.ray import open_cluster

        async with open_cluster(experiment, context, items) as run_cases:
            yield run_cases
