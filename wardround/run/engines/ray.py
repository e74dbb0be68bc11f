"""The Ray engine: workers on a cluster run the cases; this process writes the record."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any

from llm.egress import is_closed
from llm.limits import Limits
from nodes.context import Context
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import StoredItem
from wardround.run.engines.work import Finish, RunCases, work_through
from wardround.run.engines.worker import Worker, environment
from wardround.run.engines.writer import Writer
from wardround.run.one_case import Attempt, Outcome, failure, result_of
from wardround.run.postgres import open_postgres
from wardround.store.durable_lines import TO_RESUME, RunStoppedError
from wardround.store.provenance import differences
from wardround.store.run_directory import RunDirectory

_log = logging.getLogger(__name__)

_MAX_LOST = 4  # workers that a case may lose before this sitting gives it up
_STORE = 256 * 2**20  # bytes for objects sent between processes; a case is a few thousand
_SECONDS = 5.0  # for a cluster's first answer, and for workers to close their resources
_PATIENCE = 60.0  # seconds for a worker to start, if a core is free for it
# Workers of ended runs, reused by later runs of this process because they have imported everything. They end with the
# connection, and are kept only if this process opened it.
_idle: list[Any] | None = None
_idle_loaded: object = None  # the plug-ins and prompts that idle workers have loaded, which cannot be unloaded


@asynccontextmanager
async def open_cluster(
    experiment: Experiment, context: Context, items: Sequence[StoredItem]
) -> AsyncIterator[RunCases]:
    """Start workers on a cluster (or a local one) and check that each of them can run the cases.

    Raises:
        ConfigurationError: Ray is not installed, the cluster cannot be reached, or cannot run this experiment.
    """
    if is_closed():
        raise ConfigurationError("--no-egress restricts only this process, not workers; use --engine local")
    _check_memory(context)
    with connected(experiment.run.address) as ray:
        at_once = experiment.run.concurrency
        idle = _idle_for((experiment.plugins, experiment.prompts), ray)
        cores = int(ray.available_resources().get("CPU", 0)) + len(idle)
        size = max(1, min(at_once, cores, len(items) * experiment.epochs))
        share = context.model_copy(update={"max_connections": max(1, context.max_connections // size)})
        crew = _Crew(ray, experiment, share)
        try:
            crew.workers = [await crew.take_up(idle) for _ in range(size)]
            await _check_workers(crew, items, experiment.known_names)
            yield crew.run
        finally:
            await crew.dismiss()


class _Crew:
    """The workers of a run and their shared writer."""

    def __init__(self, ray: Any, experiment: Experiment, context: Context) -> None:
        self._ray, self.experiment, self.context, self.writer = ray, experiment, context, _start_writer(ray)
        self.workers: list[Any] = []
        self._replacements: list[Any] = []  # of workers that were lost or found no core; no core is reserved for them
        self._running = False

    async def take_up(self, idle: list[Any]) -> Any:
        """Return an idle worker, or a new one."""
        from ray.exceptions import RayError

        while idle:
            worker = idle.pop()
            try:
                await worker.begin.remote(self.experiment, self.context, self.writer)
                return worker
            except RayError:
                self._ray.kill(worker)
        return self.hire(cores=1)

    def hire(self, cores: int) -> Any:
        """Start a new worker somewhere on the cluster."""
        options = {"num_cpus": cores, "max_concurrency": 1_000, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(Worker).options(**options).remote(self.experiment, self.context, self.writer)

    async def started(self, place: int) -> Any:
        """Return the worker in a place once it runs; if no core is free for it, it takes none.

        Two commands that start together on one cluster would each wait for the cores that the other one holds.
        """
        starting = self.workers[place]
        try:
            await asyncio.wait_for(asyncio.wrap_future(starting.__ray_ready__.remote().future()), _PATIENCE)
        except TimeoutError:
            _log.warning("no core of the cluster was free for %.0f s; a worker starts beside other work", _PATIENCE)
            self._replace(place, starting)
        return self.workers[place]

    async def dismiss(self) -> None:
        """Release the workers and end the writer; cases still under way are continued when the run is resumed."""
        closing = (asyncio.wrap_future(worker.close.remote().future()) for worker in self.workers)
        closed: list[Any] = [TimeoutError()] * len(self.workers)
        with suppress(TimeoutError):
            closed = await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), _SECONDS)
        for worker, failed in zip(self.workers, closed, strict=True):
            if _idle is None or failed or self._running or worker in self._replacements:
                self._ray.kill(worker)
            else:
                _idle.append(worker)
        self._ray.kill(self.writer)

    async def run(self, directory: RunDirectory, context: Context, left: Sequence[Attempt], finish: Finish) -> None:
        """Run what is left of the experiment; results are recorded as they arrive."""
        from ray.exceptions import RayError

        if not left:
            return
        limits = self.experiment.limits.run
        try:
            await self.writer.open.remote(directory.traces.resolve(), None if limits == Limits() else limits)
        except RayError as error:
            raise RunStoppedError(f"the run directory cannot be written: {_reason(error)}") from error
        url = self.experiment.run.checkpoints
        async with open_postgres(url) if url else nullcontext() as checkpointer:

            async def run_one(attempt: Attempt, slot: int) -> Outcome:
                return await self._run(directory, context.run, attempt, slot % len(self.workers))

            self._running = True
            await work_through(left, self.experiment.run.concurrency, run_one, finish, checkpointer, context.run)
            self._running = False

    async def _run(self, directory: RunDirectory, run: str, attempt: Attempt, place: int) -> Outcome:
        """Run one case; if its worker is lost, run it on the replacement."""
        from ray.exceptions import RayActorError, RayTaskError

        file = directory.trace_file(*attempt.key)
        why = ""
        for _ in range(_MAX_LOST):
            worker = self.workers[place]
            try:
                outcome: Outcome = await worker.run.remote(attempt, run, file.name)
            except RayTaskError as error:
                if isinstance(error.cause, RunStoppedError):  # a server refuses all questions
                    raise error.cause from error
                # Cases raise nothing else, so the writer has failed.
                raise RunStoppedError(f"{directory.path}: {_reason(error)}; {TO_RESUME}") from error
            except RayActorError as error:
                why = _reason(error)
                self._replace(place, worker)
            else:
                return outcome
        lost = f"{_MAX_LOST} workers were lost while running it; the last one: {why}"
        return Outcome(result_of(attempt, file, **failure(self.experiment, attempt, "worker_lost", lost)))

    def _replace(self, place: int, lost: Any) -> None:
        """Replace the worker in a place, unless another of its cases has done so."""
        if self.workers[place] is lost:
            self._ray.kill(lost)  # it may only have seemed lost
            # A lost machine took its cores with it, so the replacement must not wait for one.
            self.workers[place] = self.hire(cores=0)
            self._replacements.append(self.workers[place])


def _idle_for(loaded: object, ray: Any) -> list[Any]:
    """Return the idle workers if they have loaded what the run needs; otherwise end them, to free their cores."""
    global _idle_loaded
    idle = [] if _idle is None else _idle
    while loaded != _idle_loaded and idle:
        ray.kill(idle.pop())
    _idle_loaded = loaded
    return idle


def _check_memory(context: Context) -> None:
    served = context.memory.startswith(("http://", "https://"))
    if context.grow == "in_order":
        raise ConfigurationError(
            "workflow.grow = 'in_order' runs cases one after the other; use --engine local, or grow = 'as_finished'"
        )
    if context.grow == "as_finished" and not served:
        raise ConfigurationError(
            f"workflow.grow: workers would not see what others add to memory {context.memory!r}; serve a memory "
            "(`chroma run --path DIRECTORY`) and set workflow.memory to its URL, or use --engine local"
        )
    if context.retrieval and not served and context.memory != "builtin":
        raise ConfigurationError(
            f"workflow.memory = {context.memory!r}: several processes cannot share a directory; serve it "
            "(`chroma run --path DIRECTORY`) and set workflow.memory to the URL, or use --engine local"
        )


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect to Ray: the named cluster, the one this process is connected to, or a new local one.

    Runs inside the block share their workers, one after the other.
    """
    global _idle
    if address is not None and address.startswith("ray://"):
        raise ConfigurationError(
            f"run.address: {address!r} is an address for Ray's client; run the command on a machine of the cluster, "
            "with --address HOST:PORT or auto"
        )
    if address is None and "ray" not in sys.modules:
        # Read when Ray is imported: processes that it starts here listen on the loopback device only.
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
        _check_address(address)
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # errors that matter arrive as exceptions
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": False}
    if address is None:
        options |= {"include_dashboard": False, "object_store_memory": _STORE}
    options["job_config"] = ray.job_config.JobConfig()
    options["job_config"]._py_driver_sys_path = _Importable()
    try:
        ray.init(address=address or "local", **options)
    except Exception as error:  # Ray raises many types here
        where = f"the cluster at {address!r} cannot be reached" if address else "no cluster can be started here"
        raise ConfigurationError(
            f"run.address: {where}: {_reason(error)}; check that it runs and, if it requires "
            "tokens, that RAY_AUTH_MODE=token is set; or leave the address out to use this machine"
        ) from error
    _idle = []
    try:
        yield ray
    finally:
        _idle = None
        ray.shutdown()  # also ends all workers


class _Importable(list[str]):
    """Folders from which workers import: of those that Ray adds to it, only what this process imports from itself.

    Ray adds the working directory, and workers would run a file of a stranger's there, such as `pydantic.py`.
    """

    def extend(self, folders: Iterable[str]) -> None:
        """Add the folders that are on this process's path."""
        super().extend(folder for folder in folders if folder in map(os.path.abspath, sys.path))


def _check_address(address: str) -> None:
    """Refuse an address at which nothing listens, which Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"run.address: no cluster answers at {address!r} ({error}); start one with `ray start --head` and give "
            "the HOST:PORT that it prints, or leave the address out to use this machine"
        ) from error


def _start_writer(ray: Any) -> Any:
    """Start the writer on the machine of this process."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Writer).options(num_cpus=0, scheduling_strategy=here).remote()


async def _check_workers(crew: _Crew, items: Sequence[StoredItem], used: set[str]) -> None:
    """Check that every worker can run the cases as this process would."""
    from ray.exceptions import RayError

    pictures = [str(file) for item in items for file in item.pictures]
    ours = environment()
    try:
        workers = await asyncio.gather(*map(crew.started, range(len(crew.workers))))
        found = await asyncio.gather(*(worker.look.remote(pictures) for worker in workers))
        known = await asyncio.gather(*(worker.known_names.remote() for worker in workers))
    except RayError as error:
        raise ConfigurationError(
            f"--engine ray: a worker cannot run the cases: {_reason(error)}; every machine of the cluster needs the "
            "same installation, data and keys as this one"
        ) from error
    for theirs in found:
        if unequal := differences(ours, theirs, "here against a worker"):
            raise ConfigurationError(
                "--engine ray: a machine of the cluster has a different installation:\n  " + "\n  ".join(unequal[:12])
            )
    if lacking := sorted(used - set.intersection(*known)):
        raise ConfigurationError(
            f"--engine ray: workers do not know {', '.join(lacking)}, which a script or notebook registers; put it "
            "into a file of its own and name that as a plug-in (--plugin FILE, or plugins = [...])"
        )


def _reason(error: BaseException) -> str:
    """Return the last line of Ray's message, which is the cause."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[-1] if lines else type(cause).__name__
