"""The response cache: answers of earlier runs in a SQLite file that several processes may share.

No library fits: LangChain's caches do not distinguish calls, epochs and answer types, and diskcache stores pickles,
which can run code when they are read.
"""

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from llm.errors import CacheError
from llm.failed_requests import brief

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, answer TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    model TEXT NOT NULL, stored REAL NOT NULL, checksum TEXT NOT NULL
) WITHOUT ROWID
"""
_BUSY_SECONDS = 30.0
_TRIES = 100

_log = logging.getLogger(__name__)


class CachedAnswer(NamedTuple):
    """A typed answer as JSON text, with the tokens that it took."""

    answer: str
    input_tokens: int
    output_tokens: int


class ResponseCache:
    """Typed answers by the fingerprint of their question.

    Raises:
        CacheError: from every method, if the file cannot be read or written or is not such a cache.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        with self._locked():
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._database.text_factory = _text
            tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
            if tables and "answers" not in tables:
                raise ValueError("it is the database of another program")
            # SQLite does not wait while another process changes the journal mode, so retry here.
            busy, pause = retry_if_exception_type(sqlite3.OperationalError), wait_fixed(_BUSY_SECONDS / _TRIES)
            again = Retrying(retry=busy, stop=stop_after_attempt(_TRIES), wait=pause, reraise=True)
            again(self._database.execute, "PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(_TABLE)
            # Fail now if the file is not writable, rather than after the first paid answer.
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("ROLLBACK")

    def find(self, key: str) -> CachedAnswer | None:
        """Return the answer to a question; None if it is not known, or its entry is damaged."""
        columns = "answer, input_tokens, output_tokens, checksum"
        with self._locked():
            row = self._database.execute(f"SELECT {columns} FROM answers WHERE key = ?", (key,)).fetchone()
        if row and row[3] != _checksum(key, *row[:3]):
            _log.warning("the response cache %s: an entry is damaged; its question is asked again", self._file)
            return None
        return CachedAnswer(*row[:3]) if row else None

    def keep(self, key: str, model: str, found: CachedAnswer) -> None:
        """Store a valid answer, replacing one that another process may have stored."""
        row = (key, *found, model, time.time(), _checksum(key, *found))
        with self._locked():
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock out other threads, and report every error as a CacheError with its remedy."""
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError, ValueError) as error:  # ValueError: its message may not be UTF-8
            _opened.cache_clear()  # so that a repaired file can be opened without a restart
            raise CacheError(
                f"the response cache {self._file} cannot be used ({brief(error)}): delete it with its -wal and -shm "
                "files, name another file, or leave `cache` unset"
            ) from error


def open_cache(path: str) -> ResponseCache:
    """Return the cache of a file, opened once per process; the file is created if missing.

    Raises:
        CacheError: it cannot be used.
    """
    file = Path(os.path.expanduser(path)).resolve()
    if not file.exists():
        _opened.cache_clear()
    return _opened(file, os.getpid())


@cache
def _opened(file: Path, process: int) -> ResponseCache:
    """Open a cache; one per process, as SQLite connections do not survive a fork."""
    return ResponseCache(file)


def _text(stored: bytes) -> str:
    """Decode a text; a damaged one has another checksum."""
    return stored.decode("utf-8", "replace")


def _checksum(key: str, answer: str, input_tokens: int, output_tokens: int) -> str:
    return hashlib.sha256(f"{key}\n{input_tokens}\n{output_tokens}\n{answer}".encode()).hexdigest()
