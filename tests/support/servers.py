"""Real Postgres and Chroma servers for tests, started and stopped on this machine."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

ROLE, PASSWORD = "guarded", "pepper-4711"  # a role that needs its password


@contextmanager
def postgres() -> Iterator[str]:
    """Start a Postgres server with its data and its socket in a new folder, and yield its URL.

    The folder is not one of pytest's: for root, Postgres runs as another user, and every session of pytest that starts
    closes the folder above all of them to others.
    """
    pgserver = pytest.importorskip("pgserver", reason="Postgres comes with pgserver, which ends with Python 3.12")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        url: str = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
            rules = folder / "pg_hba.conf"
            rules.write_text(f"local all {ROLE} scram-sha-256\n{rules.read_text()}")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()


def new_database(url: str, *, guarded: bool = False) -> str:
    """Create an empty database, and return its URL; with user and password if ``guarded``."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    new = url.replace("/postgres?", f"/{name}?")
    return new.replace("postgres:@", f"{ROLE}:{PASSWORD}@") if guarded else new


def rows(url: str) -> dict[str, int]:
    """Return the number of rows of each checkpoint table."""
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    with psycopg.connect(url) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}  # type: ignore[index]


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """Start a Chroma server with its data in a folder, and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    command = [str(program), "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with folder.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "ANONYMIZED_TELEMETRY": "False"})
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)
