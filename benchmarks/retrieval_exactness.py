"""Whether the case memory finds the true nearest cases, and what it takes: beside an exact NumPy scan.

    python -m benchmarks --only recall

As many records as MedChain has cases, or a million (4 GB), 384 dimensions, in clusters within 19 departments of unequal
size. What is measured is the search, so that the records come from a stand-in for Chroma: writing a million into Chroma
takes most of an hour. Times are those of one processor, as ratios to the scan (one matrix product and a partition
over the same vectors), which is what a database is measured against here, not seconds of some machine.
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
        """Choose the centres, and how large each department is."""
        self._rng = np.random.default_rng(seed)
        self._centres = (
            self._rng.normal(size=(19, CLUSTERS, DIMENSIONS)) + self._rng.normal(size=(19, 1, DIMENSIONS)) / 2
        )
        self._shares = self._rng.dirichlet(np.full(19, 2.0))

    def sizes(self, n: int) -> list[int]:
        """How many of n records each department has."""
        sizes: list[int] = self._rng.multinomial(n, self._shares).tolist()
        return sizes

    def fill(self, vectors: Vectors, department: int) -> None:
        """Draw the vectors of a department, in place; in single precision, for there may be a million."""
        vectors[:] = self._rng.standard_normal(vectors.shape, np.float32) / 2
        vectors += self._centres.astype(np.float32)[department, self._rng.integers(0, CLUSTERS, len(vectors))]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)


class StandIn:
    """What a memory asks of a Chroma client and of its collections, answered from arrays."""

    def __init__(self, vectors: Vectors | None = None, told: list[str] | None = None, first: int = 0) -> None:
        """A collection of some records, of which the first has this number; or a client."""
        self.vectors, self.told, self.first = vectors, told, first
        self.collections: dict[str, StandIn] = {}

    def list_collections(self) -> list[Any]:
        """None that was made with another model."""
        return []

    def get_collection(self, name: str, **_: Any) -> "StandIn | None":
        """The collection of this name, if there is one."""
        return self.collections.get(name)

    def get(self, **_: Any) -> dict[str, Any]:
        """All records."""
        assert self.told is not None
        ids = [str(self.first + row) for row in range(len(self.told))]
        return {"ids": ids, "embeddings": self.vectors, "metadatas": [{"case": case} for case in self.told]}


def scan(vectors: Vectors, first: int, query: Vectors) -> set[int]:
    """Of some vectors, the first of which has this number, the numbers of the K nearest, exactly."""
    return set((first + np.argpartition(-(vectors @ query), K - 1)[:K]).tolist())


def remembered(memory: Memory, department: str | None, query: Vectors) -> set[int]:
    """The numbers of the cases that the memory finds."""
    return {int(neighbour.case.id) for neighbour in memory.recall(query, department, k=K)}


def measure(
    ask: Callable[[int, Vectors], set[int]], queries: list[tuple[int, Vectors]]
) -> tuple[list[set[int]], float]:
    """The answers, and the median seconds of one on a processor."""
    answers, seconds = [], []
    for department, query in queries:
        start = time.thread_time()
        answers.append(ask(department, query))
        seconds.append(time.thread_time() - start)
    return answers, float(np.median(seconds))


def compared(records: int, number: int, seed: int) -> list[tuple[str, float, float]]:
    """For each way of asking: its name, the recall found, and its time over the scan's."""
    clusters, client = Clusters(seed), StandIn()
    vectors = np.empty((records, DIMENSIONS), np.float32)
    shelves: list[tuple[Vectors, int]] = []
    first = 0
    for department, size in enumerate(clusters.sizes(records)):
        name, own = DEPARTMENTS.names[department], vectors[first : first + size]
        clusters.fill(own, department)
        shelves.append((own, first))
        case = RememberedCase(id="@", verified=True, department=name).model_dump_json(exclude_defaults=True)
        told = [case.replace("@", str(row)) for row in range(first, first + size)]
        named = f"wardround-{re.sub('[^a-z]+', '-', name.lower())}-verified"
        client.collections[named] = StandIn(own, told, first)
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
            ours(*queries[0])  # what is read once
            turns = [(measure(exact, queries), measure(ours, queries)) for _ in range(ROUNDS)]
            truth, answers = turns[0][0][0], turns[0][1][0]
            share = sum(len(a & b) for a, b in zip(truth, answers, strict=True)) / sum(map(len, truth))
            found.append((label, share, min(taken for _, (_, taken) in turns) / min(taken for (_, taken), _ in turns)))
    return found
