"""Checkpoints of cases under way: a killed case goes on at its last node."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import StateSnapshot
from pydantic import BaseModel

from graphs.catalogue import Graph
from llm.specs import OFFLINE
from nodes.context import Context
from wardround.plugins import record_plugins
from wardround.run.postgres import check_postgres, open_postgres
from wardround.store.durable_lines import RunStoppedError

_OURS = ("cases", "llm", "nodes", "retrieval", "scoring")


def serializer() -> JsonPlusSerializer:
    """A serializer that brings the types of our states back as what they were, and no others.

    These are all models and dataclasses of our own packages and of the loaded plug-ins that the imported graphs have
    brought with them.
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
    return JsonPlusSerializer(allowed_msgpack_modules=sorted(known))


async def check_checkpoints(url: str | None) -> None:
    """Make sure, before anything is written, that checkpoints can be kept there; None is SQLite and always can.

    Raises:
        ConfigurationError: the database cannot be used.
    """
    if url is not None:
        await check_postgres(url)


@asynccontextmanager
async def open_checkpoints(url: str | None, path: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The checkpointer of a run: in a Postgres database if one is named, else in a SQLite file."""
    async with open_sqlite(path) if url is None else open_postgres(url, serializer()) as checkpointer:
        yield checkpointer


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A SQLite checkpointer."""
    import aiosqlite

    async with aiosqlite.connect(str(path)) as connection:
        # Enough for a killed process; a power cut may cost the last steps, which are then asked again.
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield AsyncSqliteSaver(connection, serde=serializer())


def has_begun(reached: StateSnapshot) -> bool:
    """Whether anything of a thread was kept, so that it goes on and does not begin anew.

    That there is no next node tells nothing: there is none either where a kill came after the last node of a step had
    written, and before the step's own checkpoint.
    """
    return reached.created_at is not None


class Reached(NamedTuple):
    """The final state of a thread, and whether it was there before."""

    state: dict[str, Any]
    before: bool


async def run_thread(graph: Graph, thread: str, beginning: Any, context: Context, last: str) -> Reached:
    """Run a thread to its end: from its beginning, or on from its last checkpoint; a finished one is only read.

    Each step is kept before the next one; offline only the end is, as rules are sooner asked again than written.
    "async" is no choice: a stage's checkpoint may reach the disk before that of the graph around it, and a kill in
    between would lose what lay before the stage.

    Args:
        graph: compiled with a checkpointer.
        thread: under which name its checkpoints are kept.
        beginning: the graph's input.
        context: the graph's context.
        last: what the last node writes: a state that has it is finished.
    """
    config: Any = {"configurable": {"thread_id": thread}}
    reached = await graph.aget_state(config)
    if last in reached.values and not reached.next:
        return Reached(dict(reached.values), True)
    durability: Literal["exit", "sync"] = "exit" if set(context.models.values()) == {OFFLINE} else "sync"
    entry = None if has_begun(reached) else beginning
    return Reached(dict(await graph.ainvoke(entry, config, context=context, durability=durability)), False)


async def forget_thread(checkpointer: BaseCheckpointSaver[Any], thread: str) -> None:
    """Drop the checkpoints of a case that is final.

    Raises:
        RunStoppedError: they cannot be reached any more.
    """
    try:
        await checkpointer.adelete_thread(thread)
    except Exception as error:  # each database has errors of its own
        raise RunStoppedError(
            f"checkpoints can no longer be written: {type(error).__name__}: {error}; mend that and run the same "
            "command again to go on"
        ) from error


def is_database_error(error: BaseException) -> bool:
    """Whether it is the checkpoints' database that failed, SQLite or Postgres, and not the case."""
    return type(error).__module__.partition(".")[0] in ("sqlite3", "psycopg", "psycopg_pool")
