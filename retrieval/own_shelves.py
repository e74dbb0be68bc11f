"""Remembered cases of this process alone: shelves as in ``chroma_collections.py``, but without Chroma.

The built-in memory is rebuilt by every process; Chroma's start took longer than that, and a tenth of a gigabyte.
"""

import threading
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.chroma_collections import ALL_DEPARTMENTS
from retrieval.exact_search import Nearest, Rows, nearest
from retrieval.features import RememberedCase

_Key = tuple[str | None, str | None]  # of a shelf: the department, and the run if it holds pseudo-cases


class OwnShelves:
    """The shelves of a case memory that ends with the process; thread-safe."""

    def __init__(self) -> None:
        self._rows: dict[_Key, Rows] = {}  # a shelf is replaced, never changed, so readers need no lock
        self._lock = threading.Lock()

    def embeddings(self) -> set[tuple[str, str]]:
        """Return no embedding models: all vectors are of this process."""
        return set()

    def count(self, department: str | None, run: str | None) -> int:
        """Return the number of cases on a shelf; ``run`` None means the verified ones."""
        return len(self._rows[department, run].ids) if (department, run) in self._rows else 0

    def among(self, ids: Sequence[str], department: str | None) -> list[str]:
        """Return which of these ids are on a shelf of verified cases."""
        known = set(self._rows[department, None].ids) if (department, None) in self._rows else set[str]()
        return [case_id for case_id in ids if case_id in known]

    def put(self, cases: Sequence[RememberedCase], vectors: NDArray[np.float32], run: str | None) -> None:
        """Store cases of one kind by department, and remove them from any other department."""
        with self._lock:
            for department in dict.fromkeys(case.department for case in cases):
                rows = [row for row, case in enumerate(cases) if case.department == department]
                group = [cases[row] for row in rows]
                known = self._rows.get((department, run)) or Rows([], vectors[:0], [], np.zeros(0))
                told = [case.model_dump_json(exclude_defaults=True) for case in group]
                self._rows[department, run] = known.having(group, vectors[rows], told)
            # Last, so that a reader finds a case that moves in two departments rather than in none.
            for department in ALL_DEPARTMENTS:
                elsewhere = [case.id for case in cases if case.department != department]
                if elsewhere and (department, run) in self._rows:
                    self._rows[department, run] = self._rows[department, run].without(elsewhere)

    def mend(self, departments: Iterable[str | None]) -> None:
        """Do nothing: no index can lose a case."""

    def told(self, department: str | None) -> list[str]:
        """Return all verified cases of a department, as JSON."""
        return self._rows[department, None].told if (department, None) in self._rows else []

    def nearest(
        self,
        query: NDArray[np.float64],
        departments: Iterable[str | None],
        n: int,
        run: str | None = None,
        before: int | None = None,
    ) -> list[Nearest]:
        """Return at least the n cases of some departments that are nearest to a unit vector; see `Shelves`."""
        shelves = [self._rows[name, run] for name in departments if (name, run) in self._rows]
        return [nearest(shelves, query, n, before)]
