"""Whether an English clause says the same as another one in other words.

Embeddings of whole clauses are no help by themselves: opposites are more alike than paraphrases. A logistic regression
is, of twenty likenesses and their products: of the clauses' embeddings, of their words and of their tokens, each with
the nearest one of the other clause. It was trained on `clauses.toml` (`python -m wardround.training.same_meaning`).
"""

from collections.abc import Sequence, Set
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodes.offline.stored_weights import weights_in
from retrieval import embed
from retrieval.token_vectors import token_likenesses
from scoring.metrics.opposites import Clause, alike, is_contrary

WEIGHTS = Path(str(files("scoring.metrics") / "same_meaning.npz"))
SAME_FROM = 0.4  # probability from which a clause counts as the same
_NEAREST = 3  # how many of the other clauses, the nearest by their embeddings, are compared
_LEAST = 0.35  # cosine similarity from which they are: below it, hardly a paraphrase is found
_LONGEST = 8  # words of a clause that are counted
_DECIMALS = 3

Rows = NDArray[np.float64]


def is_same(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether one of the other clauses probably says the same as a clause."""
    own, *vectors = embed([clause.text, *(other.text for other in others)])
    cosines = np.array([round(float(own @ vector), _DECIMALS) for vector in vectors])
    nearest = [at for at in np.argsort(-cosines, kind="stable")[:_NEAREST] if cosines[at] >= _LEAST]
    if not nearest:
        return False
    rows = likenesses(clause, [others[at] for at in nearest], cosines[nearest])
    stored = weights_in(WEIGHTS, np.float64)  # centre and scale of the features (d,), and the weights, the bias last
    return round(float(probabilities(rows, stored).max()), _DECIMALS) >= SAME_FROM


def likenesses(clause: Clause, others: Sequence[Clause], cosines: Sequence[float] | Rows) -> Rows:
    """Return the features of a clause beside n other ones (n, 21), whose embeddings have these cosine similarities."""
    words = [word_likenesses(clause, other) for other in others]
    tokens = token_likenesses(clause.text, [other.text for other in others]).astype(np.float64)
    return np.hstack([np.array(cosines)[:, None], np.array(words, np.float64), tokens])


def word_likenesses(clause: Clause, other: Clause) -> list[float]:
    """Return those features that are of the words of two clauses alone."""
    own, others = clause.words, other.words
    shared = [_share_of(one, two) for one, two in ((own, others), (others, own))]
    denied = clause.denied, other.denied
    lengths = [min(len(one), _LONGEST) / _LONGEST for one in (own, others)]
    return [*shared, *lengths, is_contrary(clause, other), denied[0] != denied[1], all(denied), not shared[0]]


def _share_of(words: Set[str], others: Set[str]) -> float:
    return sum(any(alike(word, other) for other in others) for word in words) / max(1, len(words))


def probabilities(rows: Rows, by: dict[str, Rows]) -> Rows:
    """Return how probably each of n rows of features (n, d) is of two clauses that say the same (n,)."""
    scores = with_products((rows - by["center"]) / by["scale"]) @ by["weights"][:-1] + by["weights"][-1]
    likely: Rows = 1 / (1 + np.exp(-scores))
    return likely


def with_products(rows: Rows) -> Rows:
    """Return features and the products of each two of them (n, d + d (d + 1) / 2)."""
    one, other = np.triu_indices(rows.shape[1])
    return np.hstack([rows, rows[:, one] * rows[:, other]])
