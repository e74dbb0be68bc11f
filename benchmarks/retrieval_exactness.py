"""Whether the case memory finds the true nearest cases: recall@3 against an exact NumPy scan.

    python -m benchmarks.retrieval_exactness [--records 12163] [--queries 500] [--seed 0]

As many records as MedChain has cases, 384 dimensions, in clusters within 19 departments of unequal size. Times are
given as ratios to the NumPy scan (one matrix product and a sort over the same vectors in the process), which is what
a database is measured against here, not seconds of some machine. Exit status 1 if recall is below what is promised.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from cases.vocabulary import DEPARTMENTS
from retrieval import Memory, RememberedCase, build_memory

Vectors = NDArray[np.float32]
WITHIN, OVERALL = 1.0, 0.99  # the recall promised within a department and over all of them
K = 3


def clustered(rng: np.random.Generator, n: int, dimensions: int = 384) -> tuple[Vectors, NDArray[np.int64]]:
    """Unit vectors (n, dimensions) in ten clusters a department, and the department of each (n,)."""
    departments = rng.choice(19, size=n, p=rng.dirichlet(np.full(19, 2.0)))
    centres = rng.normal(size=(19, 10, dimensions)) + 0.5 * rng.normal(size=(19, 1, dimensions))
    vectors = centres[departments, rng.integers(0, 10, n)] + 0.5 * rng.normal(size=(n, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), departments


def scan(vectors: Vectors, rows: NDArray[np.int64], query: Vectors) -> set[int]:
    """Of some vectors, which are ``rows`` of all, the rows of the K nearest, exactly."""
    return set(rows[np.argpartition(-(vectors @ query), K - 1)[:K]].tolist())


def measure(queries: Vectors, find: Callable[[int, Vectors], set[int]]) -> tuple[list[set[int]], float]:
    """The answers, and the median seconds of one."""
    answers, seconds = [], []
    for number, query in enumerate(queries):
        start = time.perf_counter()
        answers.append(find(number, query))
        seconds.append(time.perf_counter() - start)
    return answers, float(np.median(seconds))


def remembered(memory: Memory, query: Vectors, department: str | None) -> set[int]:
    """The rows of the cases that the memory finds."""
    return {int(neighbour.case.id) for neighbour in memory.recall_by_vector(query, department, k=K)}


def compared(folder: Path, records: int, number: int, seed: int) -> list[tuple[str, float, float, float]]:
    """For each way of asking: its name, the recall promised, the recall found, and its time over the scan's."""
    rng = np.random.default_rng(seed)
    everything, filed = clustered(rng, records + number)
    vectors, queries = everything[:records], everything[records:]
    rows = [np.flatnonzero(filed[:records] == number) for number in range(19)]
    shelves, every = [vectors[own] for own in rows], np.arange(records)
    asked = filed[records:]
    cases = [
        RememberedCase(id=str(row), verified=True, department=DEPARTMENTS.names[filed[row]]) for row in range(records)
    ]
    memory = build_memory([], folder, embedding="synthetic")
    memory.add(cases, vectors)
    found = []
    for label, promised, exact, ours in (
        (
            "within the department",
            WITHIN,
            lambda number, query: scan(shelves[asked[number]], rows[asked[number]], query),
            lambda number, query: remembered(memory, query, DEPARTMENTS.names[asked[number]]),
        ),
        (
            "over all departments",
            OVERALL,
            lambda number, query: scan(vectors, every, query),
            lambda number, query: remembered(memory, query, None),
        ),
    ):
        truth, scanned = measure(queries, exact)
        answers, asked_memory = measure(queries, ours)
        share = sum(len(a & b) for a, b in zip(truth, answers, strict=True)) / sum(map(len, truth))
        found.append((label, promised, share, asked_memory / scanned))
    memory.close()
    return found


def main(records: int = 12_163, number: Annotated[int, typer.Option("--queries")] = 500, seed: int = 0) -> None:
    """Build, ask, compare and print."""
    with tempfile.TemporaryDirectory() as folder:
        found = compared(Path(folder), records, number, seed)
    print(f"{records} records in 19 departments, {number} queries\n")
    print(f"{'':28}{'recall@3':>9}{'promised':>10}{'x NumPy':>9}")
    for label, promised, share, times in found:
        print(f"{label:28}{share:9.4f}{promised:10.2f}{times:9.1f}")
    raise typer.Exit(any(share < promised for _, promised, share, _ in found))


if __name__ == "__main__":
    typer.run(main)
