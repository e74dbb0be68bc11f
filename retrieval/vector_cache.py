"""Where embeddings are kept once computed: shipped with the package, and on the user's disk.

A vector is filed under the SHA-256 of its model and text and stored in half precision. A cache may be missing,
unwritable, locked or corrupt; it then answers nothing, and never fails a run.
"""

import logging
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

Half = NDArray[np.float16]

_FOLDER = Path(str(files("retrieval") / "embeddings"))
SHIPPED, HEARD = _FOLDER / "builtin.npz", _FOLDER / "heard.npz"
_log = logging.getLogger(__name__)


def is_sound(vector: NDArray[np.floating]) -> bool:
    """Whether a stored vector has length one, as every embedding has: a check against damaged files."""
    norm = float(np.linalg.norm(vector.astype(np.float32)))
    return abs(norm - 1) < 0.01  # NaN compares false


class ShippedVectors:
    """The read-only files of embeddings that come with the package (arrays ``digests`` and ``vectors``)."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths or (SHIPPED, HEARD)

    @cached_property
    def _rows(self) -> dict[bytes, Half]:
        return {digest: row for path in self._paths for digest, row in self._of(path).items()}

    @staticmethod
    def _of(path: Path) -> dict[bytes, Half]:
        try:
            with np.load(path, allow_pickle=False) as shipped:
                digests, vectors = shipped["digests"], shipped["vectors"].astype(np.float16)
            return {digest.tobytes(): vector for digest, vector in zip(digests, vectors, strict=True)}
        except FileNotFoundError:
            return {}
        except Exception as error:  # a damaged archive raises anything from BadZipFile to KeyError
            _log.warning("the shipped embeddings %s are not used: %s; install the package again", path, error)
            return {}

    def get(self, digests: Iterable[bytes]) -> dict[bytes, Half]:
        """The vectors it holds of those asked for."""
        return {digest: self._rows[digest] for digest in digests if digest in self._rows}


class StoredVectors:
    """The user's own cache on disk: SQLite, shared by threads and processes (a connection per call).

    What was asked for of late is not looked up again: gates and patients ask for the same sentences all the time.
    """

    _PER_QUERY = 500  # SQLite's oldest limit of variables in a statement is 999
    _MOST = 20_000  # vectors, of a kilobyte each

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or cache_folder()) / "embeddings.sqlite"
        self._of_late: dict[bytes, Half] = {}
        self._warned = False

    def get(self, digests: Iterable[bytes]) -> dict[bytes, Half]:
        """The sound vectors it holds of those asked for."""
        wanted = list(digests)
        known = {digest: vector for digest in wanted if (vector := self._of_late.get(digest)) is not None}
        read = self._read([digest for digest in wanted if digest not in known])
        if len(self._of_late) > self._MOST:
            self._of_late = {}
        self._of_late.update(read)
        return known | read

    def _read(self, wanted: list[bytes]) -> dict[bytes, Half]:
        rows = []
        if not wanted or not self._path.exists():
            return {}
        try:
            with closing(self._connect()) as database:
                for start in range(0, len(wanted), self._PER_QUERY):
                    some = wanted[start : start + self._PER_QUERY]
                    marks = ",".join("?" * len(some))
                    query = f"SELECT digest, vector FROM embedding WHERE digest IN ({marks})"
                    rows += database.execute(query, some).fetchall()
            vectors = {digest: np.frombuffer(blob, np.float16) for digest, blob in rows}
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            self._warn(error)
            return {}
        return {digest: vector for digest, vector in vectors.items() if is_sound(vector)}

    def put(self, vectors: Mapping[bytes, Half]) -> None:
        """Keep vectors, in one transaction."""
        rows = [(digest, vector.tobytes()) for digest, vector in vectors.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as database, database:
                database.execute("CREATE TABLE IF NOT EXISTS embedding (digest BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                database.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self._warn(error)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("the embedding cache %s is not used: %s; if it is damaged, delete it", self._path, error)


def cache_folder() -> Path:
    """The user's cache folder: ``WARDROUND_CACHE``, or the system's place for caches."""
    return Path(os.environ.get("WARDROUND_CACHE") or platformdirs.user_cache_dir("wardround"))
