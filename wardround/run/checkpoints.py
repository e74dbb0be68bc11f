"""Checkpoints of finished and interrupted cases; steps lost in a kill are answered again from the trace."""

import errno
import logging
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import StateSnapshot
from pydantic import BaseModel

from cases.registry import GivenError
from graphs.state_graph import Graph
from graphs.subgraphs import STEP_LIMIT
from llm.checksums import digest
from llm.masking import masked
from llm.tracing import tracers
from nodes.context import Context
from wardround.plugins import record_plugins
from wardround.run.outages import outlasting
from wardround.store.durable_lines import DAMAGED, TO_RESUME, RunStoppedError, writing

_OURS = ("cases", "llm", "nodes", "retrieval", "scoring")
_COLUMNS = {
    "checkpoints": "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value",
}

_ELSEWHERE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_OF_CONTENT = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS)

_log = logging.getLogger(__name__)


class DamagedCheckpointError(ValueError):
    """A checkpoint whose content differs from what was written."""


class _Sealing(JsonPlusSerializer):
    """Stores a checksum with the type of each value, as in ``msgpack:1f0c...``; older checkpoints have none."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if isinstance(obj, BaseException):  # LangGraph keeps its text alone, too
            obj = masked(repr(obj))
        kind, data = super().dumps_typed(obj)
        return f"{kind}:{digest(data)}", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, _, written = data[0].partition(":")
        if written and written != digest(data[1]):
            raise DamagedCheckpointError("a checkpoint is damaged: its checksum differs")
        return super().loads_typed((kind, data[1]))


class _Saver(AsyncSqliteSaver):
    """LangGraph's saver, which asks the database only once for a thread that has no checkpoints."""

    def __init__(self, connection: Any, serde: JsonPlusSerializer) -> None:
        super().__init__(connection, serde=serde)
        self._without: set[str] = set()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the last checkpoint of a thread, or of a subgraph in it."""
        asked = config["configurable"]
        if asked["thread_id"] in self._without:
            return None
        found = await super().aget_tuple(config)
        if found is None and not asked.get("checkpoint_ns") and not asked.get("checkpoint_id"):
            self._without.add(asked["thread_id"])
        return found

    async def aput(self, config: RunnableConfig, *written: Any) -> RunnableConfig:
        """Save a checkpoint."""
        self._without.discard(config["configurable"]["thread_id"])
        return await super().aput(config, *written)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task has written."""
        self._without.discard(config["configurable"]["thread_id"])
        await super().aput_writes(config, writes, task_id, task_path)


def serializer() -> JsonPlusSerializer:
    """Return a serializer that restores the types of our states, and no others.

    These are the models and dataclasses of our own packages and of the loaded plug-ins, as far as they are imported.
    """
    packages = {*_OURS, *(name.partition(".")[0] for name in record_plugins() or ())}
    known = {
        (kind.__module__, kind.__name__)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == name
        if issubclass(kind, BaseModel) or is_dataclass(kind)
    }
    return _Sealing(allowed_msgpack_modules=sorted(known))


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a SQLite checkpointer. A damaged file is moved aside; its cases start again, answered from their traces."""
    import aiosqlite

    with writing(path.parent):
        fault = mend_sqlite(path)
    if fault:
        _log.warning("%s; it was set aside in %s", fault, path.parent / DAMAGED)
    async with AsyncExitStack() as opened:
        with saving(path):
            connection = await opened.enter_async_context(aiosqlite.connect(str(path)))
            # Safe against a killed process; a power cut may cost the last steps, which are then repeated.
            await connection.execute("PRAGMA synchronous=NORMAL")
            saver = _Saver(connection, serializer())
            await saver.setup()
        try:
            yield saver
        finally:
            async with saver.lock:  # nobody begins a step any more: a half-written one would keep the file locked
                await connection.rollback()
                with suppress(sqlite3.Error):  # shrink the file once all cases are finished, unless another reads it
                    if not await connection.execute_fetchall("SELECT 1 FROM checkpoints LIMIT 1"):
                        await connection.execute("VACUUM")
                await connection.close()


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one that names the checkpoint file and the remedy.

    Raises:
        RunStoppedError: on every sqlite3.Error inside the block, as on a full disk or in a read-only folder.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise RunStoppedError(f"{path}: cannot be written ({error}); {TO_RESUME}") from error


def mend_sqlite(path: Path) -> str | None:
    """Move aside a checkpoint file that SQLite cannot read, and return what is wrong with it; None if it is sound.

    Raises:
        OSError: it cannot be moved, or not be opened for want of room or of permission.
    """
    if (fault := sqlite_fault(path)) is None:
        return None
    (path.parent / DAMAGED).mkdir(exist_ok=True)
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError):
            file.replace(path.parent / DAMAGED / file.name)
    return fault


def sqlite_fault(path: Path) -> str | None:
    """Return what SQLite finds wrong with a checkpoint file; None if nothing, or if there is no file.

    Raises:
        OSError: SQLite cannot write what it needs beside the file, as on a full disk, or may not read it; that is no
            damage.
    """
    if not path.exists():
        return None
    try:
        with closing(_open(path)) as database:
            found = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
            for table in _tables(database):
                database.execute(f"SELECT {_COLUMNS[table]} FROM {table} LIMIT 1").fetchall()
    except (sqlite3.Error, UnicodeError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code in _ELSEWHERE:
            return None
        if code & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL) and code not in _OF_CONTENT:
            raise OSError(errno.EIO, f"{error}; the disk may be full", str(path)) from error
        if code & 0xFF == sqlite3.SQLITE_CANTOPEN and path.is_file():  # unreadable, or too many files are open
            raise OSError(errno.EACCES, f"{error}; is it yours to read and write?", str(path)) from error
        found = str(error)
    return None if found == "ok" else f"{path}: is damaged ({found})"


def damaged_threads(path: Path) -> set[str]:
    """Return the threads in a SQLite file that hold a value whose checksum is wrong.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    found: set[str] = set()
    with closing(_open(path)) as database:
        for table in _tables(database):
            value = "checkpoint" if table == "checkpoints" else "value"
            for thread, kind, data in database.execute(f"SELECT thread_id, type, {value} FROM {table}"):
                written = str(kind).partition(":")[2]
                if written and (not isinstance(data, bytes) or written != digest(data)):
                    found.add(thread)
    return found


def drop_threads(path: Path, threads: Collection[str]) -> None:
    """Delete threads from a SQLite file, and shrink it if it is then empty.

    Raises:
        sqlite3.Error: the file cannot be read or written.
    """
    with closing(sqlite3.connect(path)) as database:
        tables = _tables(database)
        for table in tables:
            database.executemany(f"DELETE FROM {table} WHERE thread_id = ?", [(thread,) for thread in threads])
        database.commit()
        if not any(database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
            database.execute("VACUUM")


def _open(path: Path) -> sqlite3.Connection:
    """Open an existing file; in a read-only folder, SQLite can read it only as immutable."""
    how = "mode=rw" if os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)


def _tables(database: sqlite3.Connection) -> set[str]:
    """Return which of our tables exist; none in a file that was just created."""
    return _COLUMNS.keys() & {name for (name,) in database.execute("SELECT name FROM sqlite_master")}


async def forget_threads(checkpointer: BaseCheckpointSaver[Any], run: str, but: Collection[str]) -> None:
    """Delete the threads of a run's final cases, which remain if the database went away before they could be deleted.

    The threads in ``but`` (cases still to run) stay.
    """
    query = f"SELECT DISTINCT thread_id AS thread FROM checkpoints WHERE thread_id LIKE '{run}/%'"
    if isinstance(checkpointer, AsyncSqliteSaver):
        threads = [row[0] for row in await checkpointer.conn.execute_fetchall(query)]
    else:
        async with cast(Any, checkpointer).conn.connection() as connection:
            threads = [row["thread"] for row in await (await connection.execute(query)).fetchall()]
    for thread in threads:
        if thread not in but:
            await forget_thread(checkpointer, thread)


def has_begun(reached: StateSnapshot) -> bool:
    """Whether a first node has finished, so that a thread resumes rather than starts.

    What was saved before holds the input only, without the folder of the case's pictures. That there is no next node
    proves nothing: this is also the case if a kill came after the last node of a step had written and before the step's
    own checkpoint.
    """
    return (reached.metadata or {}).get("step", -1) > 0


async def run_thread(
    graph: Graph, thread: str, beginning: Any, context: Context, last: str
) -> tuple[dict[str, Any], bool]:
    """Run a thread to its end: from its input, or from its last checkpoint; a finished one is only read.

    Return its final state, and whether it was finished before.

    A thread is finished if its state has what the ``last`` node writes. One that a plug-in's node interrupts raises a
    `GivenError`: scored with what it has, it would pass for a doctor's failure.

    Only the end is saved, or the point where the thread was interrupted: after a kill it starts again and takes the
    answers that its trace holds (``llm/journal.py``), which is cheaper than saving each step. Each step is saved before
    the next one ("sync") in a Postgres database, and if the memory grows as cases finish, since the same questions
    would not come again. "async" is unsafe: a stage's checkpoint may be saved before that of its parent graph, and a
    kill in between would lose what came before the stage.

    A thread with damaged checkpoints also starts again, and one whose case has moved with its pictures, whose paths are
    in the state.
    """
    try:
        return await _run_on(graph, thread, beginning, context, last)
    except DamagedCheckpointError as error:
        _log.warning("%s: %s; the case starts again", thread, error)
        await forget_thread(cast(Any, graph.checkpointer), thread)
        return await _run_on(graph, thread, beginning, context, last)


async def _run_on(
    graph: Graph, thread: str, beginning: Any, context: Context, last: str
) -> tuple[dict[str, Any], bool]:
    config: Any = {**STEP_LIMIT, "configurable": {"thread_id": thread}, "callbacks": tracers()}
    try:
        reached = await graph.aget_state(config)
    except (ValueError, KeyError, TypeError) as error:  # values outside the sealed ones have no checksum
        raise DamagedCheckpointError(f"a checkpoint cannot be read: {error}") from error
    case = beginning.get("case")
    if case and case.examinations.images and reached.values.get("picture_folder", case.folder) != case.folder:
        await forget_thread(cast(Any, graph.checkpointer), thread)
        reached = await graph.aget_state(config)
    if last in reached.values and not reached.next:
        return dict(reached.values), True
    local = isinstance(graph.checkpointer, AsyncSqliteSaver | InMemorySaver)
    durability: Literal["exit", "sync"] = "exit" if local and context.grow != "as_finished" else "sync"
    graph_input = None if has_begun(reached) else beginning
    final = dict(await graph.ainvoke(graph_input, config, context=context, durability=durability))
    if waiting := final.get("__interrupt__"):
        asked = f"a node waits for a person's answer, whom a run cannot ask ({waiting[0].value!r:.80})"
        raise GivenError(f"{asked}; call the graph from Python with a checkpointer, or let the node ask a role")
    return final, False


async def forget_thread(checkpointer: BaseCheckpointSaver[Any], thread: str) -> None:
    """Delete the checkpoints of a final case.

    Raises:
        RunStoppedError: the database can no longer be reached.
    """
    try:
        await outlasting(lambda: checkpointer.adelete_thread(thread))
    except Exception as error:  # each database has errors of its own
        raise RunStoppedError(
            f"checkpoints can no longer be written: {type(error).__name__}: {error}; {TO_RESUME}"
        ) from error
