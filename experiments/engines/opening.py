"""Which engine an experiment runs on."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from cases import Case
from experiments.configuration import Experiment
from experiments.engines.local import run_here
from experiments.engines.work import RunCases
from nodes.context import Context


@asynccontextmanager
async def open_engine(experiment: Experiment, context: Context, cases: Sequence[Case]) -> AsyncIterator[RunCases]:
    """Make ready what the experiment is to run on, and refuse what cannot work, before anything is written.

    Args:
        experiment: its ``run.engine`` says where.
        context: the context that its cases have in common.
        cases: all of them.

    Raises:
        ConfigurationError: the engine is not installed, cannot be reached or cannot run this experiment.
    """
    if experiment.run.engine == "local":
        yield partial(run_here, experiment)
    else:
        from experiments.engines.ray import open_cluster

        async with open_cluster(experiment, context, cases) as run_cases:
            yield run_cases
