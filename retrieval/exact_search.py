"""Exact search over a shelf in memory: compares all its vectors, which is faster than a query to Chroma."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.features import RememberedCase

# Single-threaded, unlike a BLAS product; NumPy 1, which the extra `ratescore` needs, has no such function.
_products: Any = getattr(np, "vecdot", partial(np.einsum, "ij,j->i"))
_SAME = 1e-5  # more than the difference of products in single and double precision


class Candidate(NamedTuple):
    """A case that may be among the nearest."""

    similarity: float
    case_id: str
    as_json: str  # the case as JSON, parsed only if it is chosen


class Nearest(NamedTuple):
    """Some candidates, unordered, and whether there are others, none of which is nearer."""

    candidates: list[Candidate]
    others: bool


@dataclass(frozen=True)
class Rows:
    """The cases of a shelf, row by row: ids, unit vectors (n, d), cases as JSON, and orders (inf if none)."""

    ids: list[str]
    vectors: NDArray[np.float32]
    as_json: list[str]
    orders: NDArray[np.float64]

    def near(self, query: NDArray[np.float32], before: int | None) -> NDArray[np.float32]:
        """Return approximate similarities to a unit vector, (n,); -inf where the order is not less than ``before``."""
        if not self.ids:  # all its cases have moved: Chroma then gives vectors of no length
            return np.zeros(0, np.float32)
        near: NDArray[np.float32] = _products(self.vectors, query)
        return near if before is None else np.where(self.orders < before, near, np.float32(-inf))

    def without(self, ids: Sequence[str]) -> "Rows":
        """Return the rows without those of some ids."""
        dropped = set(ids)
        rows = [row for row, case_id in enumerate(self.ids) if case_id not in dropped]
        ids, as_json = [self.ids[row] for row in rows], [self.as_json[row] for row in rows]
        return Rows(ids, self.vectors[rows], as_json, self.orders[rows])

    def having(self, cases: Sequence[RememberedCase], vectors: NDArray[np.float32], as_json: Sequence[str]) -> "Rows":
        """Return the rows with some cases added, which replace rows with the same ids."""
        ids = [case.id for case in cases]
        rest = self.without(ids)
        orders = np.array([inf if case.order is None else case.order for case in cases])
        return Rows(
            [*rest.ids, *ids],
            np.concatenate([rest.vectors, vectors]) if rest.ids else vectors,
            [*rest.as_json, *as_json],
            np.concatenate([rest.orders, orders]),
        )


def nearest(shelves: Sequence[Rows], query: NDArray[np.float64], n: int, before: int | None) -> Nearest:
    """Return the n cases of some shelves that are nearest to a unit vector, with all that tie with the last.

    With ``before``, only cases whose order is less count.
    """
    single = query.astype(np.float32)
    by_shelf = [rows.near(single, before) for rows in shelves]
    near = by_shelf[0] if len(by_shelf) == 1 else np.concatenate([*by_shelf, np.zeros(0, np.float32)])
    allowed = len(near) if before is None else int(np.count_nonzero(near > -inf))
    threshold = np.partition(near, -n)[-n] - _SAME if n < allowed else -2.0
    chosen = [(rows, (own >= threshold).nonzero()[0].tolist()) for rows, own in zip(shelves, by_shelf, strict=True)]
    ids = [rows.ids[place] for rows, places in chosen for place in places]
    as_json = [rows.as_json[place] for rows, places in chosen for place in places]
    vectors = [rows.vectors[places] for rows, places in chosen if places]
    found = candidates(query, ids, np.concatenate(vectors) if vectors else (), as_json)
    return Nearest(found, others=len(found) < allowed)


def candidates(query: NDArray[np.float64], ids: Sequence[str], vectors: Any, as_json: Sequence[str]) -> list[Candidate]:
    """Return cases with their similarities to a unit vector."""
    if not ids:
        return []
    # Rounded, because Chroma may return a stored vector with another last digit once it is in the index.
    similarities = (np.asarray(vectors, np.float64) @ query).round(7).tolist()
    return list(map(Candidate, similarities, ids, as_json))
