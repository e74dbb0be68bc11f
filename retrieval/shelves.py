"""How remembered cases lie in Chroma: a shelf (collection) for each department and kind of case.

Verified cases have one shelf a department; pseudo-cases one a department and run. Chroma finds the candidates on a
shelf; they are ranked by their stored vectors, because Chroma's distances are off by up to 1e-6.
"""

import hashlib
import re
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import DEPARTMENTS
from retrieval.features import RememberedCase

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

ALL_DEPARTMENTS: Sequence[str | None] = (*DEPARTMENTS.names, None)  # None: the cases that have no department

# Chroma's defaults (M 16, ef 100) miss neighbours among clustered cases; these find them (benchmarks/).
_INDEX: Any = {"hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}}
_SPARE_CANDIDATES = 8  # near-ties that Chroma puts beyond the last place asked for may belong before it


class Shelves:
    """The collections of one case memory: those of a Chroma client whose names begin with ``prefix``."""

    def __init__(self, client: "Client", prefix: str, embedding: str) -> None:
        self._client = client
        self._prefix = prefix
        self._embedding = embedding
        self._known: dict[str, Collection] = {}
        self._lock = threading.Lock()

    def embeddings(self) -> set[str]:
        """The names of the embedding models that its vectors were made with."""
        own = [collection.metadata or {} for collection in self._client.list_collections()]
        return {str(metadata.get("embedding")) for metadata in own if metadata.get("memory") == self._prefix}

    def count(self, department: str | None, run: str | None) -> int:
        """The number of cases on a shelf; ``run`` None means the verified ones."""
        shelf = self._find(department, run)
        return shelf.count() if shelf else 0

    def put(self, cases: Sequence[RememberedCase], vectors: NDArray[np.float32], run: str | None) -> None:
        """Store cases of one kind by department, and take away those that stood in another one before."""
        rows_by_department: defaultdict[str | None, list[int]] = defaultdict(list)
        for row, case in enumerate(cases):
            rows_by_department[case.department].append(row)
        for department, rows in rows_by_department.items():
            self._create(department, run).upsert(
                ids=[cases[row].id for row in rows],
                embeddings=vectors[rows],
                metadatas=[_metadata(cases[row]) for row in rows],
            )
        # Only now, so that a reader finds a moving case in two departments rather than in none.
        for department in ALL_DEPARTMENTS:
            elsewhere = [case.id for case in cases if case.department != department]
            if not elsewhere or (shelf := self._find(department, run)) is None:
                continue
            if moved := shelf.get(ids=elsewhere, include=[])["ids"]:
                shelf.delete(ids=moved)

    def nearest(
        self, query: NDArray[np.float64], department: str | None, run: str | None, *, before: int | None, n: int
    ) -> list[tuple[float, str, str]]:
        """The n cases on a shelf nearest to a unit vector, and a few more: (similarity, id, the case as JSON)."""
        if (shelf := self._find(department, run)) is None:
            return []
        earlier: Any = None if before is None else {"order": {"$lt": before}}
        wanted: Any = query.astype(np.float32)[np.newaxis]
        answer: Any = shelf.query(
            query_embeddings=wanted,
            n_results=n + _SPARE_CANDIDATES,
            where=earlier,
            include=["embeddings", "metadatas"],
        )
        if not (ids := answer["ids"][0]):
            return []
        # Rounded, because a stored vector may come back with another last digit once it has moved into the index.
        similarities = (np.asarray(answer["embeddings"][0], np.float64) @ query).round(7).tolist()
        return list(zip(similarities, ids, (metadata["case"] for metadata in answer["metadatas"][0]), strict=True))

    def _name(self, department: str | None, run: str | None) -> str:
        kind = "verified" if run is None else f"pseudo-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        return f"{self._prefix}-{re.sub('[^a-z]+', '-', (department or 'unfiled').lower())}-{kind}"

    def _find(self, department: str | None, run: str | None) -> "Collection | None":
        from chromadb.errors import NotFoundError

        name = self._name(department, run)
        if name not in self._known:  # what is missing is looked up again: another client may have made it
            try:
                self._known[name] = self._client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None
        return self._known[name]

    def _create(self, department: str | None, run: str | None) -> "Collection":
        with self._lock:
            if shelf := self._find(department, run):
                return shelf
            name = self._name(department, run)
            metadata = {"memory": self._prefix, "embedding": self._embedding, "department": department or ""}
            shelf = self._client.get_or_create_collection(
                name, metadata=metadata, configuration=_INDEX, embedding_function=None
            )
            self._known[name] = shelf
            return shelf


def _metadata(case: RememberedCase) -> dict[str, str | int]:
    told: dict[str, str | int] = {"case": case.model_dump_json(exclude_defaults=True)}
    return told if case.order is None else told | {"order": case.order}
