"""Checkpoints of cases under way: a killed case goes on at its last node."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import is_dataclass
from pathlib import Path

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel

import cases.case
import models.trace
import nodes.chart
import nodes.conference
import nodes.decisions
import nodes.discussion
import nodes.panel
import nodes.patient_profile
import nodes.registrar
import nodes.reporter
import retrieval.features
import retrieval.memory

_MODULES = (
    cases.case,
    models.trace,
    nodes.chart,
    nodes.conference,
    nodes.decisions,
    nodes.discussion,
    nodes.panel,
    nodes.patient_profile,
    nodes.registrar,
    nodes.reporter,
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


@asynccontextmanager
async def open_checkpoints(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A SQLite checkpointer."""
    import aiosqlite

    async with aiosqlite.connect(str(path)) as connection:
        # Enough for a killed process; a power cut may cost the last steps, which are then asked again.
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield AsyncSqliteSaver(connection, serde=serializer())
