"""Measure whether the case memory finds the true nearest cases, and its time against an exact NumPy scan.

    python -m benchmarks --only recall

The records are as many as MedChain has cases, or a million (4 GB), with 384 dimensions, in clusters within 19
departments of unequal size. Only the search is measured, so the records come from a stand-in for Chroma: writing a
million into Chroma takes most of an hour. Times are for one core, as ratios to the scan (one matrix product and a
partition of the same vectors), and not seconds of a particular machine.
"""

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cases.vocabulary import DEPARTMENTS
from retrieval import Memory, RememberedCase

Vectors = NDArray[np.float32]
K, CLUSTERS, DIMENSIONS, ROUNDS = 3, 10, 384, 3


class Clusters:
    """Unit vectors in clusters within 19 departments."""

    def __init__(self, seed: int) -> None:
        """Draw the centres and the size of each department."""
        self._rng = np.random.default_rng(seed)
        self._centres = (
            self._rng.normal(size=(19, CLUSTERS, DIMENSIONS)) + self._rng.normal(size=(19, 1, DIMENSIONS)) / 2
        )
        self._shares = self._rng.dirichlet(np.full(19, 2.0))

    def sizes(self, n: int) -> list[int]:
        """Return the number of records in each department, of n in total."""
        sizes: list[int] = self._rng.multinomial(n, self._shares).tolist()
        return sizes

    def fill(self, vectors: Vectors, department: int) -> None:
        """Draw the vectors of a department in place; in single precision, as there may be a million."""
        vectors[:] = self._rng.standard_normal(vectors.shape, np.float32) / 2
        vectors += self._centres.astype(np.float32)[department, self._rng.integers(0, CLUSTERS, len(vectors))]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)


class StandIn:
    """A stand-in for a Chroma client and its collections, backed by arrays."""

    def __init__(self, vectors: Vectors | None = None, told: list[str] | None = None, first: int = 0) -> None:
        """Make a collection of records, numbered from ``first``; or a client."""
        self.vectors, self.told, self.first = vectors, told, first
        self.collections: dict[str, StandIn] = {}

    def list_collections(self) -> list[Any]:
        """Return no collection made with another model."""
        return []

    def get_collection(self, name: str, **_: Any) -> "StandIn | None":
        """Return the collection of this name, if there is one."""
        return self.collections.get(name)

    def get(self, **_: Any) -> dict[str, Any]:
        """Return all records."""
        assert self.told is not None
        ids = [str(self.first + row) for row in range(len(self.told))]
        return {"ids": ids, "embeddings": self.vectors, "metadatas": [{"case": case} for case in self.told]}


def scan(vectors: Vectors, first: int, query: Vectors) -> set[int]:
    """Return the numbers of the K nearest vectors, exactly; vectors are numbered from ``first``."""
    return set((first + np.argpartition(-(vectors @ query), K - 1)[:K]).tolist())


def remembered(memory: Memory, department: str | None, query: Vectors) -> set[int]:
    """Return the numbers of the cases that the memory finds."""
    return {int(neighbour.case.id) for neighbour in memory.recall(query, department, k=K)}


def measure(
    ask: Callable[[int, Vectors], set[int]], queries: list[tuple[int, Vectors]]
) -> tuple[list[set[int]], float]:
    """Return the answers, and the median CPU seconds of one."""
    answers, seconds = [], []
    for department, query in queries:
        start = time.thread_time()
        answers.append(ask(department, query))
        seconds.append(time.thread_time() - start)
    return answers, float(np.median(seconds))


def compared(records: int, number: int, seed: int) -> list[tuple[str, float, float]]:
    """Return for each kind of query: its name, the recall, and its time relative to the scan."""
    clusters, client = Clusters(seed), StandIn()
    vectors = np.empty((records, DIMENSIONS), np.float32)
    shelves: list[tuple[Vectors, int]] = []
    first = 0
    for department, size in enumerate(clusters.sizes(records)):
        name, department_vectors = DEPARTMENTS.names[department], vectors[first : first + size]
        clusters.fill(department_vectors, department)
        shelves.append((department_vectors, first))
        case = RememberedCase(id="@", verified=True, department=name).model_dump_json(exclude_defaults=True)
        metadata = [case.replace("@", str(row)) for row in range(first, first + size)]
        collection_name = f"wardround-{re.sub('[^a-z]+', '-', name.lower())}-verified"
        client.collections[collection_name] = StandIn(department_vectors, metadata, first)
        first += size
    queries = []
    for department in [department for department, size in enumerate(clusters.sizes(number)) for _ in range(size)]:
        query = np.empty((1, DIMENSIONS), np.float32)
        clusters.fill(query, department)
        queries.append((department, query[0]))
    memory = Memory(client, location="benchmark", embedding="synthetic")  # type: ignore[arg-type]
    ways: list[tuple[str, Callable[[int, Vectors], set[int]], Callable[[int, Vectors], set[int]]]] = [
        (
            "within the department",
            lambda department, query: scan(*shelves[department], query),
            lambda department, query: remembered(memory, DEPARTMENTS.names[department], query),
        ),
        (
            "over all departments",
            lambda _, query: scan(vectors, 0, query),
            lambda _, query: remembered(memory, None, query),
        ),
    ]
    found = []
    with threadpool_limits(1, "blas"):
        for label, exact, ours in ways:
            ours(*queries[0])  # loads what is read once
            rounds = [(measure(exact, queries), measure(ours, queries)) for _ in range(ROUNDS)]
            truth, answers = rounds[0][0][0], rounds[0][1][0]
            share = sum(len(a & b) for a, b in zip(truth, answers, strict=True)) / sum(map(len, truth))
            found.append(
                (label, share, min(seconds for _, (_, seconds) in rounds) / min(seconds for (_, seconds), _ in rounds))
            )
    return found
