"""Caches of embeddings: shipped with the package, and on the user's disk.

The key of a vector is the SHA-256 of its model and text; embeddings are stored in half precision. A cache that is
missing, unwritable, locked or corrupt returns nothing and never fails a run.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Half = NDArray[np.float16]
Vector = NDArray[Any]

_FOLDER = Path(str(files("retrieval") / "embeddings"))
_FILES = [_FOLDER / f"{name}.npz" for name in ("builtin", "compared", "heard", "reported")]
SHIPPED, COMPARED, HEARD, REPORTED = _FILES
_log = logging.getLogger(__name__)


def is_sound(vector: NDArray[np.floating]) -> bool:
    """Whether a stored vector has unit length, as every embedding has: a check for damaged files."""
    norm = float(np.linalg.norm(vector.astype(np.float32)))
    return abs(norm - 1) < 0.01  # NaN compares false


class ShippedVectors:
    """The read-only embedding files of the package (arrays ``digests`` and ``vectors``)."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths or _FILES

    @cached_property
    def _rows(self) -> dict[bytes, Half]:
        return {digest: row for path in self._paths for digest, row in self._read(path).items()}

    @staticmethod
    def _read(path: Path) -> dict[bytes, Half]:
        try:
            with np.load(path, allow_pickle=False) as shipped:
                digests, vectors = shipped["digests"], shipped["vectors"].astype(np.float16)
            return {digest.tobytes(): vector for digest, vector in zip(digests, vectors, strict=True)}
        except FileNotFoundError:
            return {}
        except Exception as error:  # a damaged archive raises anything from BadZipFile to KeyError
            _log.warning("the shipped embeddings %s cannot be used: %s; reinstall the package", path, error)
            return {}

    def get(self, digests: Iterable[bytes]) -> dict[bytes, Half]:
        """Return the cached vectors among those requested."""
        return {digest: self._rows[digest] for digest in digests if digest in self._rows}


class StoredVectors:
    """The user's cache on disk: SQLite, shared by threads and processes (each keeps a connection for reading).

    Recent vectors stay in memory, because gates and patients request the same sentences again and again.
    """

    _PER_QUERY = 500  # old versions of SQLite allow 999 variables per statement
    _MOST = 20_000  # vectors in memory, of a kilobyte each

    def __init__(
        self,
        folder: Path,
        name: str = "embeddings",
        form: type[np.float16 | np.float32] = np.float16,
        sound: Callable[[Vector], bool] = is_sound,
    ) -> None:
        self._path = folder / f"{name}.sqlite"
        self._form, self._is_sound = form, sound
        self._recent: dict[bytes, Vector] = {}
        self._kept = threading.local()
        self._warned = False

    def get(self, digests: Iterable[bytes]) -> dict[bytes, Vector]:
        """Return the cached and undamaged vectors among those requested."""
        wanted = list(digests)
        recent = {digest: vector for digest in wanted if (vector := self._recent.get(digest)) is not None}
        stored = self._read([digest for digest in wanted if digest not in recent])
        self._remember(stored)
        return recent | stored

    def _remember(self, vectors: Mapping[bytes, Vector]) -> None:
        if len(self._recent) > self._MOST:
            self._recent = {}
        self._recent.update(vectors)

    def _read(self, wanted: list[bytes]) -> dict[bytes, Vector]:
        rows = []
        if not wanted:
            return {}
        try:
            database = self._reader()
            for start in range(0, len(wanted), self._PER_QUERY):
                batch = wanted[start : start + self._PER_QUERY]
                marks = ",".join("?" * len(batch))
                query = f"SELECT digest, vector FROM embedding WHERE digest IN ({marks})"
                rows += database.execute(query, batch).fetchall()
            vectors = {digest: np.frombuffer(blob, self._form) for digest, blob in rows}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            vars(self._kept).clear()
            self._warn(error)
            return {}
        return {digest: vector for digest, vector in vectors.items() if self._is_sound(vector)}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors, in one transaction; where the disk takes none, this process still has them."""
        self._remember({digest: vector for digest, vector in vectors.items() if self._is_sound(vector)})
        rows = [(digest, vector.tobytes()) for digest, vector in vectors.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as database, database:
                # Waiting for the disk after each text took ten times as long as embedding it. A kill loses nothing.
                database.execute("PRAGMA synchronous = OFF")
                database.execute("CREATE TABLE IF NOT EXISTS embedding (digest BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                database.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self._warn(error)

    def _reader(self) -> sqlite3.Connection:
        """Return this thread's connection: opening one takes three times as long as reading a vector.

        After a fork, and where the file is another one than before, it is a new one.

        Raises:
            OSError: the file does not exist, or cannot be looked at.
        """
        file = self._path.stat()
        opened = os.getpid(), file.st_dev, file.st_ino
        if vars(self._kept).get("opened") != opened:
            self._kept.database, self._kept.opened = self._connect(), opened
        database: sqlite3.Connection = self._kept.database
        return database

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("the embedding cache %s cannot be used: %s; if it is damaged, delete it", self._path, error)


user_vectors = lru_cache(maxsize=16)(StoredVectors)  # one for each folder and kind
