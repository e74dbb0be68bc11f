"""Checkpoints of cases under way: a killed case goes on at its last node."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot
from pydantic import BaseModel

import cases.case
import cases.dialogues
import cases.notes
import llm.trace
import nodes.consultation.final_report
import nodes.patients.ai_hospital.profile
import nodes.reconstruction.exchanges
import nodes.reconstruction.knowledge
import nodes.reconstruction.plan
import nodes.reconstruction.role_setting
import nodes.state.chart
import nodes.state.collaboration
import nodes.state.decisions
import nodes.state.experts
import nodes.state.stage
import nodes.workflow.admission
import retrieval.features
import retrieval.memory
import scoring.clini_eval.demonstration
import scoring.clini_eval.points
from llm.specs import OFFLINE
from nodes.context import Context
from wardround.run.postgres import check_postgres, open_postgres
from wardround.store.durable_lines import RunStoppedError

Graph = CompiledStateGraph[Any, Any, Any, Any]

_MODULES = (
    cases.case,
    cases.dialogues,
    cases.notes,
    scoring.clini_eval.points,
    scoring.clini_eval.demonstration,
    llm.trace,
    nodes.state.chart,
    nodes.reconstruction.exchanges,
    nodes.reconstruction.knowledge,
    nodes.reconstruction.plan,
    nodes.reconstruction.role_setting,
    nodes.state.collaboration,
    nodes.state.decisions,
    nodes.state.stage,
    nodes.state.experts,
    nodes.patients.ai_hospital.profile,
    nodes.workflow.admission,
    nodes.consultation.final_report,
    retrieval.features,
    retrieval.memory,
)


def serializer() -> JsonPlusSerializer:
    """A serializer that brings our own types back as what they were, and nothing it was not told of."""
    ours = {
        (module.__name__, name)
        for module in _MODULES
        for name, kind in vars(module).items()
        if isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))
    }
    return JsonPlusSerializer(allowed_msgpack_modules=sorted(ours))


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
