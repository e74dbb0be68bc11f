"""Remembered cases in Chroma: a shelf (collection) per department and kind of case.

Verified cases have one shelf per department, pseudo-cases one per department and run. A shelf that no other process
writes is read once and searched exactly in this process (``exact_search.py``). On a server, Chroma's index finds
candidates among the verified cases; they are ranked by their stored vectors, since Chroma's distances are off by up to
1e-6. Pseudo-cases are few but written all the time, and results must not depend on timing, so all eligible ones are
fetched and ranked.
"""

import hashlib
import re
import threading
from collections.abc import Container, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from cases.grouping import grouped
from cases.vocabulary import DEPARTMENTS
from retrieval.exact_search import Nearest, Rows, candidates, nearest
from retrieval.features import RememberedCase

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

ALL_DEPARTMENTS: Sequence[str | None] = (*DEPARTMENTS.names, None)  # None: cases without a department

# Chroma's defaults (M 16, ef 100) miss neighbours among clustered cases; these values do not (benchmarks/).
_INDEX: Any = {"hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}}
_SPARE_CANDIDATES = 8  # near-ties that Chroma ranks just after the last result may belong before it
_SAME = 1e-5  # cosine distance up to which two vectors count as the same
_CHECKED_AT_ONCE = 500  # vectors per query

_Key = tuple[str | None, str | None]  # of a shelf: the department, and the run if it holds pseudo-cases


class Shelves:
    """The collections of one case memory: all whose names begin with ``prefix``."""

    def __init__(
        self, client: "Client", prefix: str, embedding: str, *, fingerprint: str = "", shared: bool = False
    ) -> None:
        """Use the collections of a client; ``shared`` if other processes may write them meanwhile.

        New ones record the name of the ``embedding`` model and, of a folder, its ``fingerprint``.
        """
        self._client = client
        self._prefix = prefix
        self._model = {"embedding": embedding, **({"fingerprint": fingerprint} if fingerprint else {})}
        self._shared = shared
        self._known: dict[_Key, Collection | None] = {}
        self._rows: dict[_Key, Rows] = {}
        self._lock = threading.RLock()  # held while a shelf and its cached rows are updated together

    def embeddings(self) -> set[tuple[str, str]]:
        """Return the names and fingerprints ("": unknown) of the embedding models of its vectors."""
        found = [collection.metadata or {} for collection in self._client.list_collections()]
        own = [metadata for metadata in found if metadata.get("memory") == self._prefix]
        return {(str(metadata.get("embedding")), str(metadata.get("fingerprint", ""))) for metadata in own}

    def count(self, department: str | None, run: str | None) -> int:
        """Return the number of cases on a shelf; ``run`` None means the verified ones."""
        shelf = self._find(department, run)
        return shelf.count() if shelf else 0

    def among(self, ids: Sequence[str], department: str | None) -> list[str]:
        """Return which of these ids are on a shelf of verified cases."""
        shelf = self._find(department, None)
        return shelf.get(ids=list(ids), include=[])["ids"] if shelf and ids else []

    def put(self, cases: Sequence[RememberedCase], vectors: NDArray[np.float32], run: str | None) -> None:
        """Store cases of one kind by department, and remove them from any other department.

        Afterwards, call `mend` for verified cases.
        """
        rows_by_department = grouped((case.department, row) for row, case in enumerate(cases))
        with self._lock:
            for department, rows in rows_by_department.items():
                group, group_vectors = [cases[row] for row in rows], vectors[rows]
                metadatas: list[Any] = [_metadata(case) for case in group]
                shelf = self._create(department, run)
                shelf.upsert(ids=[case.id for case in group], embeddings=group_vectors, metadatas=metadatas)
                if known := self._rows.get((department, run)):
                    self._rows[department, run] = known.having(group, group_vectors, _json(metadatas))
            # Last, so that a reader finds a case that moves in two departments rather than in none.
            for department in ALL_DEPARTMENTS:
                elsewhere = [case.id for case in cases if case.department != department]
                if not elsewhere or (found := self._find(department, run)) is None:
                    continue
                if moved := found.get(ids=elsewhere, include=[])["ids"]:
                    self._remove(found, moved, department, run)

    def keep(self, ids: Container[str], run: str) -> None:
        """Remove all pseudo-cases of a run but those with these ids."""
        for department in ALL_DEPARTMENTS:
            if (shelf := self._find(department, run)) is None:
                continue
            if others := [case_id for case_id in shelf.get(include=[])["ids"] if case_id not in ids]:
                with self._lock:
                    self._remove(shelf, others, department, run)

    def _remove(self, shelf: "Collection", ids: list[str], department: str | None, run: str | None) -> None:
        """Remove cases from a shelf; called under the lock."""
        shelf.delete(ids=ids)
        if known := self._rows.get((department, run)):
            self._rows[department, run] = known.without(ids)

    def mend(self, departments: Iterable[str | None]) -> None:
        """Make every verified case of these departments findable.

        Chroma 1.5 inserts a batch with several threads and loses one vector in a few thousand: it is stored, but the
        index does not reach it (chroma-core/chroma#7758). Updating it alone links it again.
        """
        for department in departments:
            if shelf := self._find(department, None):
                for _ in range(3):
                    if not (lost := _lost(shelf)):
                        break
                    for case_id, vector in lost.items():
                        shelf.update(ids=[case_id], embeddings=vector)

    def verified(self, department: str | None) -> list[str]:
        """Return all verified cases of a department, as JSON."""
        shelf = self._find(department, None)
        answer: Any = shelf.get(include=["metadatas"]) if shelf else {"metadatas": []}
        return _json(answer["metadatas"])

    def nearest(
        self,
        query: NDArray[np.float64],
        departments: Iterable[str | None],
        n: int,
        run: str | None = None,
        before: int | None = None,
    ) -> list[Nearest]:
        """Return at least the n cases of some departments that are nearest to a unit vector, in one or several parts.

        ``run`` None means the verified ones; otherwise the pseudo-cases of the run, only those whose order is less than
        ``before`` if it is given.
        """
        shelves = [(name, shelf) for name in departments if (shelf := self._find(name, run))]
        if not self._shared:
            return [nearest([self._read(shelf, name, run) for name, shelf in shelves], query, n, before)]
        return [_queried(shelf, query, n, run, before) for _, shelf in shelves]

    def _read(self, shelf: "Collection", department: str | None, run: str | None) -> Rows:
        """Return the rows of a shelf, read once."""
        key = department, run
        if key not in self._rows:
            with self._lock:
                if key not in self._rows:
                    self._rows[key] = _rows(shelf)
        return self._rows[key]

    def _name(self, department: str | None, run: str | None) -> str:
        kind = "verified" if run is None else f"pseudo-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        return f"{self._prefix}-{re.sub('[^a-z]+', '-', (department or 'unfiled').lower())}-{kind}"

    def _find(self, department: str | None, run: str | None) -> "Collection | None":
        key = department, run
        if key not in self._known or (self._shared and self._known[key] is None):  # another client may have created it
            from chromadb.errors import NotFoundError

            try:
                self._known[key] = self._client.get_collection(self._name(department, run), embedding_function=None)
            except NotFoundError:
                self._known.setdefault(key, None)  # another thread may just have created it
        return self._known[key]

    def _create(self, department: str | None, run: str | None) -> "Collection":
        with self._lock:
            if shelf := self._find(department, run):
                return shelf
            name = self._name(department, run)
            metadata = {"memory": self._prefix, **self._model, "department": department or ""}
            shelf = self._client.get_or_create_collection(
                name, metadata=metadata, configuration=_INDEX, embedding_function=None
            )
            self._known[department, run] = shelf
            return shelf


def _queried(shelf: "Collection", query: NDArray[np.float64], n: int, run: str | None, before: int | None) -> Nearest:
    """Return what a server's index finds among verified cases, or all eligible pseudo-cases."""
    answer: Any
    if run is not None:
        earlier: Any = None if before is None else {"order": {"$lt": before}}
        answer = shelf.get(where=earlier, include=["embeddings", "metadatas"])
        return Nearest(candidates(query, answer["ids"], answer["embeddings"], _json(answer["metadatas"])), others=False)
    answer = shelf.query(
        query_embeddings=cast(Any, query.astype(np.float32)[np.newaxis]),
        n_results=n + _SPARE_CANDIDATES,
        include=["embeddings", "metadatas"],
    )
    ids, vectors, metadatas = answer["ids"][0], answer["embeddings"][0], answer["metadatas"][0]
    return Nearest(candidates(query, ids, vectors, _json(metadatas)), others=len(ids) > n)


def _rows(shelf: "Collection") -> Rows:
    stored: Any = shelf.get(include=["embeddings", "metadatas"])
    orders = np.array([metadata.get("order", inf) for metadata in stored["metadatas"]], np.float64)
    return Rows(stored["ids"], np.asarray(stored["embeddings"], np.float32), _json(stored["metadatas"]), orders)


def _json(metadatas: Iterable[Any]) -> list[str]:
    return [metadata["case"] for metadata in metadatas]


def _lost(shelf: "Collection") -> dict[str, Any]:
    """Return the vectors, by id, that a query with themselves does not find (nor enough others equally near)."""
    stored: Any = shelf.get(include=["embeddings"])
    ids, vectors, lost = stored["ids"], stored["embeddings"], {}
    for start in range(0, len(ids), _CHECKED_AT_ONCE):
        end = start + _CHECKED_AT_ONCE
        answer: Any = shelf.query(
            query_embeddings=vectors[start:end], n_results=_SPARE_CANDIDATES, include=["distances"]
        )
        for case_id, vector, found, distances in zip(
            ids[start:end], vectors[start:end], answer["ids"], answer["distances"], strict=True
        ):
            if case_id not in found and (not distances or distances[-1] > _SAME):
                lost[case_id] = vector
    return lost


def _metadata(case: RememberedCase) -> dict[str, str | int]:
    metadata: dict[str, str | int] = {"case": case.model_dump_json(exclude_defaults=True)}
    return metadata if case.order is None else metadata | {"order": case.order}
