"""Checkpoints in a Postgres database, which runs and machines may share.

The address may contain a password: it is never written, and no error repeats it.
"""

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from llm.egress import is_closed, is_loopback
from wardround.config.experiment import ConfigurationError
from wardround.run.checkpoints import serializer

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_SCHEMES = ("postgresql://", "postgres://")
_CONNECTIONS = 8  # per process; saving a checkpoint takes a few milliseconds
# The saver creates indexes outside a transaction, which needs autocommit. Connecting may take ten seconds.
_CONNECTION_OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "connect_timeout": 10}
_NO_RIGHTS = ("42501", "25006")  # SQLSTATE: what the user may not do, or nobody in a read-only database
_SETUP_LOCK = 7_265_837_209  # an arbitrary number, the same for every process that creates the tables


async def check_postgres(url: str) -> None:
    """Connect once, and create the tables if missing; several runs may do so at the same time.

    Raises:
        ConfigurationError: the address is invalid, packages are missing, or the database cannot be used.
    """
    if not url.startswith(_SCHEMES):
        raise ConfigurationError("run.checkpoints: expected postgresql://HOST:PORT/DATABASE; leave it out for SQLite")
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg import AsyncConnection, Error
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.rows import dict_row
    except ImportError as error:
        raise ConfigurationError(
            f"run.checkpoints: Postgres needs packages that are not installed ({error}); "
            "install them with `pip install 'wardround[postgres]'`, or leave run.checkpoints out for SQLite"
        ) from error
    try:
        if is_closed() and not _on_this_machine(conninfo_to_dict(url)):  # it uses no Python sockets
            raise ConfigurationError("run.checkpoints: --no-egress allows only a database on this machine; name one")
        async with await AsyncConnection.connect(url, row_factory=dict_row, **_CONNECTION_OPTIONS) as connection:
            # Poll: a session that waits for the lock inside a statement would block the other's CREATE INDEX for ever.
            while not await _try_lock(connection):  # noqa: ASYNC110  there is no event to wait for
                await asyncio.sleep(0.1)
            await AsyncPostgresSaver(connection).setup()  # closing the connection releases the lock
    except (Error, UnicodeError) as error:
        remedy = (
            "let its user create and write tables there (`createdb --owner USER DATABASE` makes one where it may)"
            if getattr(error, "sqlstate", None) in _NO_RIGHTS
            else "start the server, or correct the address (percent-encode special characters of a password there, or "
            "give the password in PGPASSWORD or ~/.pgpass)"
        )
        raise ConfigurationError(
            f"run.checkpoints: the database cannot be used: {_without_password(str(error), url)}; {remedy}"
        ) from None


@asynccontextmanager
async def open_postgres(url: str) -> "AsyncIterator[BaseCheckpointSaver[Any]]":
    """Open a checkpointer over a pool of connections; ``check_postgres`` must have created its tables."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg import AsyncConnection
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import AsyncConnectionPool

    # Its warnings tell of each lost connection, with addresses in memory; ``outlasting`` warns for each case.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    options = {"row_factory": dict_row, **_CONNECTION_OPTIONS}
    kind = AsyncConnection[DictRow]
    pool = AsyncConnectionPool(
        url, connection_class=kind, kwargs=options, min_size=1, max_size=_CONNECTIONS, open=False
    )
    async with pool:
        saver = AsyncPostgresSaver(pool, serde=serializer())
        # The saver's lock is meant for a single connection; with a pool, each writer has its own.
        saver.lock = asyncio.Semaphore(_CONNECTIONS)  # type: ignore[assignment]
        yield saver


async def _try_lock(connection: Any) -> bool:
    found = await (await connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", (_SETUP_LOCK,))).fetchone()
    return bool(found["taken"])


def _on_this_machine(parts: dict[str, Any]) -> bool:
    """Whether all hosts of an address (there may be several) are this machine, or sockets in its file system."""
    hosts = [parts.get("host", os.environ.get("PGHOST")), parts.get("hostaddr", os.environ.get("PGHOSTADDR"))]
    each = [host for given in hosts for host in str(given or "").split(",")]
    service = parts.get("service", os.environ.get("PGSERVICE"))
    return not service and all(is_loopback(host) or host.startswith(("/", "@")) for host in each)


def _without_password(text: str, url: str) -> str:
    """Return the library's message, or a substitute if it contains any part of the password."""
    user_info = url.partition("://")[2].rpartition("@")[0]
    secret = user_info.partition(":")[2] + " " + " ".join(re.findall(r"password=([^&]*)", url))
    if any(part and part in text for part in re.split(r"[:@/?#%&\s]+", secret)):
        return "the reason contains part of the password and is not shown"
    return " ".join(text.split())
