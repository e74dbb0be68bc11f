"""Classifiers that are learned here: the weights of a logistic regression, and what they say."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_RARE = 4  # times as much as its absence counts what is seldom


def scored(rows: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores (n, labels) of n rows (n, d) by weights of which the last row is the constant (d + 1, labels)."""
    scores: NDArray[np.float64] = rows @ weights[:-1] + weights[-1]
    return scores


def fitted(
    rows: NDArray[np.float32],
    named: Sequence[object],
    labels: Sequence[object],
    balanced: bool = False,
    strength: float = 10,
    rare: bool = False,
) -> NDArray[np.float64]:
    """The weights (d + 1, labels; of two labels the second's alone) of a logistic regression.

    Each label counts alike if ``balanced``, the second of two ``_RARE`` times if ``rare``; the greater the
    ``strength``, the closer to what is learned from.
    """
    from sklearn.linear_model import LogisticRegression  # comes with sentence-transformers

    weight = "balanced" if balanced else {0: 1, 1: _RARE} if rare else None
    model = LogisticRegression(C=strength, max_iter=1000, class_weight=weight)
    model.fit(rows, [labels.index(name) for name in named])
    weights: NDArray[np.float64] = np.vstack([model.coef_.T, model.intercept_])
    return weights


def keep(path: Path, weights: dict[str, NDArray[np.generic]]) -> None:
    """Write the weights, and say how large they are."""
    np.savez_compressed(path, **weights)  # type: ignore[arg-type]
    print(f"{path.name}: {path.stat().st_size // 1024} KB")
