"""The engine of many machines: workers on a Ray cluster; this process keeps the record."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any

from llm.egress import is_closed
from nodes.context import Context
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import Item
from wardround.run.checkpoints import forget_thread, forget_threads, serializer
from wardround.run.engines.ray_writer import Writer
from wardround.run.engines.work import Finish, RunCases, work_through
from wardround.run.engines.worker import Worker, environment
from wardround.run.one_case import Attempt, Outcome, failure, result_of, thread_of
from wardround.run.postgres import open_postgres
from wardround.store.durable_lines import RunStoppedError
from wardround.store.manifest import pictures_of
from wardround.store.provenance import differences
from wardround.store.run_directory import RunDirectory

_LIVES = 4  # workers that a case may lose before it is given up for this sitting
_STORE = 256 * 2**20  # bytes for what is sent between processes; a case is a few thousand
_SECONDS = 5.0  # for a cluster's first answer, and for workers to close what they have open
# Workers of ended runs, for the next of this process: they have imported all that it needs. None of theirs outlives a
# connection of ours, and none is kept in anybody else's.
_idle: list[Any] | None = None
_brought: object = None  # what the idle ones were given to load, which a process does not forget


@asynccontextmanager
async def open_cluster(experiment: Experiment, context: Context, items: Sequence[Item]) -> AsyncIterator[RunCases]:
    """Start workers on a cluster, or on one of this machine's own, and see that each of them can run the cases.

    Raises:
        ConfigurationError: Ray is not installed, the cluster cannot be reached, or cannot run this experiment.
    """
    if is_closed():
        raise ConfigurationError("--no-egress holds this process alone and no workers; use the local engine")
    _refuse_what_cannot_be_shared(context)
    with connected(experiment.run.address) as ray:
        at_once = experiment.run.concurrency
        idle = _idle_for((experiment.plugins, experiment.prompts))
        cores = int(ray.available_resources().get("CPU", 0)) + len(idle)
        size = max(1, min(at_once, cores, len(items) * experiment.epochs))
        share = context.model_copy(update={"max_connections": max(1, context.max_connections // size)})
        crew = _Crew(experiment, share, _beside_the_driver(ray))
        try:
            crew.workers = [await crew.take_up(idle) for _ in range(size)]
            await _look_around(crew.workers, items)

            async def run_cases(
                directory: RunDirectory, context: Context, left: Sequence[Attempt], finish: Finish
            ) -> None:
                if left:
                    await crew.run(directory, context.run, left, finish)

            yield run_cases
        finally:
            await crew.dismiss()


class _Crew:
    """The workers of a run and the writer that they share."""

    def __init__(self, experiment: Experiment, context: Context, writer: Any) -> None:
        self.experiment, self.context, self.writer = experiment, context, writer
        self.workers: list[Any] = []
        self._extra: list[Any] = []  # those in a lost one's place, who have no core
        self._under_way = False

    async def take_up(self, idle: list[Any]) -> Any:
        """An idle worker, or a new one."""
        import ray
        from ray.exceptions import RayError

        while idle:
            worker = idle.pop()
            try:
                await worker.begin.remote(self.experiment, self.context, self.writer)
                return worker
            except RayError:
                ray.kill(worker)
        return self.hire(cores=1)

    def hire(self, cores: int) -> Any:
        """A new worker, somewhere on the cluster."""
        import ray

        options = {"num_cpus": cores, "max_concurrency": 1_000, "scheduling_strategy": "SPREAD"}
        return ray.remote(Worker).options(**options).remote(self.experiment, self.context, self.writer)

    async def dismiss(self) -> None:
        """Let the workers go, and end the writer; what is still under way goes on when the run is resumed."""
        import ray

        closing = (asyncio.wrap_future(worker.close.remote().future()) for worker in self.workers)
        closed: list[Any] = [TimeoutError()] * len(self.workers)
        with suppress(TimeoutError):
            closed = await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), _SECONDS)
        for worker, failed in zip(self.workers, closed, strict=True):
            if _idle is None or failed or self._under_way or worker in self._extra:
                ray.kill(worker)
            else:
                _idle.append(worker)
        ray.kill(self.writer)

    async def run(self, directory: RunDirectory, run: str, left: Sequence[Attempt], finish: Finish) -> None:
        """Run what is left of the experiment; results are kept as they arrive."""
        await _written(self.writer.open.remote(directory.traces.resolve(), self.experiment.limits.run))
        url = self.experiment.run.checkpoints
        async with open_postgres(url, serializer()) if url else nullcontext() as checkpointer:
            if checkpointer is not None:
                await forget_threads(checkpointer, run, {thread_of(attempt, run) for attempt in left})

            async def run_one(attempt: Attempt, slot: int) -> Outcome:
                return await self._run(directory, run, attempt, slot % len(self.workers))

            async def forget(attempt: Attempt) -> None:
                if checkpointer is not None:
                    await forget_thread(checkpointer, thread_of(attempt, run))

            self._under_way = True
            await work_through(left, self.experiment.run.concurrency, run_one, finish, forget)
            self._under_way = False

    async def _run(self, directory: RunDirectory, run: str, attempt: Attempt, place: int) -> Outcome:
        """Run one case; if its worker is lost, on the one that takes its place."""
        from ray.exceptions import RayActorError, RayTaskError

        file = directory.trace_file(*attempt.key)
        why = ""
        for _ in range(_LIVES):
            worker = self.workers[place]
            try:
                outcome: Outcome = await worker.run.remote(attempt, run, file.name)
            except RayTaskError as error:  # a case ends with an outcome whatever happens: the writer has failed
                raise RunStoppedError(
                    f"{directory.path}: {_reason(error)}; mend that and run the same command again to go on"
                ) from error
            except RayActorError as error:
                why = _reason(error)
                self._replace(place, worker)
            else:
                return outcome
        lost = f"{_LIVES} workers were lost while they ran it; the last: {why}"
        return Outcome(result_of(attempt, file, **failure(self.experiment, attempt, "worker_lost", lost)))

    def _replace(self, place: int, lost: Any) -> None:
        """Put a new worker in a place, unless another of its cases has done so."""
        import ray

        if self.workers[place] is lost:
            ray.kill(lost)  # one that only seemed lost
            # A machine that is gone took its cores with it; who is in its place must not wait for them.
            self.workers[place] = self.hire(cores=0)
            self._extra.append(self.workers[place])


def _idle_for(brought: object) -> list[Any]:
    """The idle workers that have loaded what a run brings; others have a core each, and are ended."""
    global _brought
    import ray

    idle = [] if _idle is None else _idle
    while brought != _brought and idle:
        ray.kill(idle.pop())
    _brought = brought
    return idle


def _refuse_what_cannot_be_shared(context: Context) -> None:
    served = context.memory.startswith(("http://", "https://"))
    if context.grow == "in_order":
        raise ConfigurationError(
            "workflow.grow = 'in_order' runs one case after the other; use --engine local, or grow = 'as_finished'"
        )
    if context.grow == "as_finished" and not served:
        raise ConfigurationError(
            f"workflow.grow: workers would not see what others remember in memory {context.memory!r}; serve a memory "
            "(`chroma run --path DIRECTORY`) and name its URL in workflow.memory, or use --engine local"
        )
    if context.retrieval and not served and context.memory != "builtin":
        raise ConfigurationError(
            f"workflow.memory = {context.memory!r}: several processes must not open one directory; serve it "
            "(`chroma run --path DIRECTORY`) and name the server's URL, or use --engine local"
        )


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster: the named one, the one that this process is connected to, or one of its own.

    Runs within it share their workers, one after the other.
    """
    global _idle
    if address is not None and address.startswith("ray://"):
        raise ConfigurationError(
            f"run.address: {address!r} is for Ray's client; run the command on a machine of the cluster, with "
            "--address HOST:PORT or auto"
        )
    if address is None and "ray" not in sys.modules:
        # Read once, when Ray is imported: the processes that it starts here listen on the loopback device only.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(
            f"--engine ray: Ray is not installed ({error}); install it with `pip install 'wardround[ray]'`, or use "
            "--engine local"
        ) from error
    if ray.is_initialized():
        yield ray
        return
    if address not in (None, "auto"):
        _knock(address)
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # what matters comes as an exception
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": False}
    if address is None:
        options |= {"include_dashboard": False, "object_store_memory": _STORE}
    try:
        ray.init(address=address or "local", **options)
    except Exception as error:  # Ray has no one type for what may go wrong here
        where = f"the cluster at {address!r} cannot be reached" if address else "no cluster can be started here"
        raise ConfigurationError(
            f"run.address: {where}: {_reason(error)}; see that it runs and, if it wants tokens, that "
            "RAY_AUTH_MODE=token is set; or leave the address out for one on this machine"
        ) from error
    _idle = []
    try:
        yield ray
    finally:
        _idle = None
        ray.shutdown()  # and with it all workers


def _knock(address: str) -> None:
    """Refuse an address at which nothing listens: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"run.address: no cluster answers at {address!r} ({error}); start one with `ray start --head` and write "
            "HOST:PORT as it prints it, or leave the address out for one on this machine"
        ) from error


def _beside_the_driver(ray: Any) -> Any:
    """The writer, on the machine of this process."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Writer).options(num_cpus=0, scheduling_strategy=here).remote()


async def _look_around(workers: Sequence[Any], items: Sequence[Item]) -> None:
    """Have every worker look whether it can run the cases as this process would."""
    from ray.exceptions import RayError

    pictures = [str(file) for file in pictures_of(items)]
    ours = environment()
    try:
        found = await asyncio.gather(*(worker.look.remote(pictures) for worker in workers))
    except RayError as error:
        raise ConfigurationError(
            f"--engine ray: a worker cannot run the cases: {_reason(error)}; every machine of the cluster needs the "
            "same installation, data and keys as this one"
        ) from error
    for theirs in found:
        if unlike := differences(ours, theirs, "here against a worker"):
            raise ConfigurationError(
                "--engine ray: a machine of the cluster has another installation:\n  " + "\n  ".join(unlike[:12])
            )


async def _written(answer: Any) -> None:
    from ray.exceptions import RayError

    try:
        await answer
    except RayError as error:
        raise RunStoppedError(f"the run directory cannot be written: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """The last line of what Ray says, which is the cause."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[-1] if lines else type(cause).__name__
