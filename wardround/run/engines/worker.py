"""The workers of a run on Ray: actors that each run several cases on one event loop."""

import asyncio
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import jinja2  # noqa: F401  imported here so that a missing package shows at once
from langgraph.checkpoint.memory import InMemorySaver

from llm.limits import Limits, Meter
from nodes.context import Context
from prompts import add_prompts
from retrieval import open_memory
from wardround.config.experiment import Experiment
from wardround.config.preflight import check_servers
from wardround.plugins import load_plugins, record_plugins
from wardround.run.checkpoints import serializer
from wardround.run.one_case import Attempt, Outcome, run_case, thread_of
from wardround.run.postgres import open_postgres
from wardround.run.tasks import TASKS
from wardround.store.manifest import prompt_hashes
from wardround.store.provenance import versions

_PACKAGES = ("wardround", "langgraph", "langchain-core", "pydantic")
_PAUSE = 0.2  # seconds between two looks at a trace file


class Courier:
    """Sends the calls of a case from the trace file on this machine to the writer of the run."""

    def __init__(self, file: Path, known: bytes, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Start the file with what is known already."""
        file.write_bytes(known)
        self._file = file
        self._send = send
        self._sent = len(known)
        self._lock = asyncio.Lock()

    async def go(self) -> None:
        """Send new whole lines."""
        async with self._lock:
            with self._file.open("rb") as trace:
                trace.seek(self._sent)
                new = trace.read()
            if lines := new[: new.rfind(b"\n") + 1]:
                await self._send(lines)
                self._sent += len(lines)


class Worker:
    """A Ray actor that runs cases.

    An actor rather than a task per case: cases mostly wait for models, so one process runs many, and opens the memory,
    connections and clients only once.

    A checkpoint is written only after the calls it rests on are in the run directory, so that after a kill neither
    lacks the other.
    """

    def __init__(self, experiment: Experiment, context: Context, writer: Any) -> None:
        self.begin(experiment, context, writer)

    def begin(self, experiment: Experiment, context: Context, writer: Any) -> None:
        """Start a run; the previous one must be closed."""
        load_plugins(experiment.plugins)
        if experiment.prompts is not None:
            add_prompts(experiment.prompts)
        self._experiment = experiment
        self._context = context
        self._writer = writer
        self._folder = tempfile.TemporaryDirectory(prefix="wardround-")
        self._couriers: dict[str, Courier] = {}
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._graph: Any = None

    async def look(self, pictures: Sequence[str]) -> dict[str, Any]:
        """Check, before anything is written, that the cases can be run here, and return what their results depend on.

        Raises:
            ModelSpecError: a model cannot be used here.
            CaseMemoryError: the memory cannot be opened here.
            EmbeddingModelError: the embedding model cannot be loaded here.
            FileNotFoundError: a picture is missing here.
        """
        _check_pictures(pictures)
        await check_servers(self._context)
        if self._context.retrieval or self._context.grow != "off":
            await asyncio.to_thread(open_memory, self._context.memory, self._context.embedding)
        return environment()

    def known_names(self) -> set[str]:
        """Return which metrics, suite, patient and strategy of the run are known here."""
        return self._experiment.known_names

    async def run(self, attempt: Attempt, run: str, trace: str) -> Outcome:
        """Run a case, or resume it. ``trace`` is the name of the case's trace file."""
        await self._ready()
        limits = self._experiment.limits.run
        meter = Meter("run") if limits == Limits() else SharedMeter(self._writer, limits)
        file = Path(self._folder.name, trace)
        context = self._context.model_copy(update={"run": run})
        thread = thread_of(attempt, run)
        async with self._sending(file, thread):
            outcome = await run_case(self._experiment, self._graph, attempt, context, file, meter)
        if self._experiment.run.checkpoints is None:
            await self._graph.checkpointer.adelete_thread(thread)
        return outcome

    async def close(self) -> None:
        """Send what cases still under way have recorded, close all resources, and delete the files on this machine."""
        for courier in list(self._couriers.values()):
            await courier.go()
        await self._open.aclose()
        self._folder.cleanup()

    @asynccontextmanager
    async def _sending(self, file: Path, thread: str) -> AsyncIterator[None]:
        """Start a case from its recorded trace, and send new lines to the run directory every moment."""
        ticket = uuid.uuid4().hex
        known: bytes = await self._writer.begin.remote(file.name, ticket)
        courier = Courier(file, known, lambda lines: self._writer.append.remote(file.name, ticket, lines))
        self._couriers[thread] = courier
        sender = asyncio.create_task(_repeat(courier.go))
        try:
            yield
        finally:
            sender.cancel()
            await courier.go()  # also where a server refuses all questions: what was answered before is paid
            del self._couriers[thread]

    async def _ready(self) -> None:
        """Open the checkpoints once; several cases may ask for them at the same time."""
        async with self._opening:
            if self._graph is None:
                url = self._experiment.run.checkpoints
                # Without a database they end with the process: a lost case runs again, with the answers in its trace.
                in_memory = InMemorySaver(serde=serializer())
                opened = open_postgres(url) if url else nullcontext(in_memory)
                checkpointer: Any = await self._open.enter_async_context(opened)
                _send_before_saving(checkpointer, self._couriers)
                self._graph = TASKS[self._experiment.graph].compiled(checkpointer, self._experiment.context)


def _check_pictures(pictures: Sequence[str]) -> None:
    for picture in pictures:
        if not Path(picture).is_file():
            raise FileNotFoundError(f"{picture} not found; put the cases' folder at the same path on every machine")


def environment() -> dict[str, Any]:
    """Return what results depend on besides the experiment; it must be the same on every machine of a run."""
    return {"versions": versions(_PACKAGES), "prompts": prompt_hashes(), "plugins": record_plugins()}


def _send_before_saving(checkpointer: Any, couriers: dict[str, Courier]) -> None:
    """Delay each write of a checkpoint until the calls of its case have been sent."""

    def after_the_calls(write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def send_then_write(config: Any, *rest: Any) -> Any:
            await couriers[config["configurable"]["thread_id"]].go()
            return await write(config, *rest)

        return send_then_write

    checkpointer.aput = after_the_calls(checkpointer.aput)
    checkpointer.aput_writes = after_the_calls(checkpointer.aput_writes)


async def _repeat(do: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(_PAUSE)
        await do()


class SharedMeter(Meter):
    """A worker's view of the run's meter, which the writer owns.

    In a run with limits, the writer is asked before each question (blocking the worker for a millisecond or two), so
    the limit holds over all workers, except for questions that two of them ask at the same instant.
    """

    def __init__(self, writer: Any, limits: Limits) -> None:
        super().__init__("run", limits)
        self._writer = writer

    def without_limits(self) -> Self:
        """Return the same meter without limits."""
        return type(self)(self._writer, Limits())

    def check(self, role: str, *, new_call: bool, priced: Callable[[], bool]) -> None:
        """Refuse a call that would exceed a limit of the run."""
        if self.limits != Limits():
            self._total, self._started = self._writer.spent.remote().future().result(), time.monotonic()
            super().check(role, new_call=new_call, priced=priced)

    def count_call(self, role: str) -> None:
        """Count a question that is about to be asked."""
        self._writer.count_call.remote(role)

    def add(self, role: str, tokens: int = 0, cost: float | None = 0.0, seconds: float = 0.0) -> None:
        """Add what an answer used."""
        self._writer.add.remote(role, tokens, cost, seconds)
