"""Logistic regression: fitting, scoring and storing of weights."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_STRENGTH = 10  # inverse of the L2 penalty, where nothing else is said
_ITERATIONS = 60  # more change nothing
_POSITIVE_WEIGHT = 4  # of a rare positive label, where that of the negative is 1


def scored(rows: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logits (n, labels) of n rows (n, d) by weights (d + 1, labels), of which the last row is the bias."""
    scores: NDArray[np.float64] = rows @ weights[:-1] + weights[-1]
    return scores


def fitted(
    rows: NDArray[np.float32],
    named: Sequence[object],
    labels: Sequence[object],
    balanced: bool = False,
    strength: float = _STRENGTH,
    rare: bool = False,
) -> NDArray[np.float64]:
    """Return the weights of a logistic regression: (d + 1, labels), or (d + 1, 1) for the second of two labels.

    Args:
        rows: features (n, d).
        named: the label of each row.
        labels: all labels, in the order of the columns.
        balanced: weight each label alike.
        strength: the inverse of the L2 penalty (scikit-learn's ``C``).
        rare: weight the second of two labels `_POSITIVE_WEIGHT` times.
    """
    from sklearn.linear_model import LogisticRegression  # comes with sentence-transformers

    class_weight = "balanced" if balanced else {0: 1, 1: _POSITIVE_WEIGHT} if rare else None
    model = LogisticRegression(C=strength, max_iter=1000, class_weight=class_weight)
    model.fit(rows, [labels.index(name) for name in named])
    weights: NDArray[np.float64] = np.vstack([model.coef_.T, model.intercept_])
    return weights


def fitted_to_truth(
    labelled: Mapping[Language, Mapping[str, bool]],
    features: Callable[[Sequence[str], Language], NDArray[np.float32]],
    strength: float = _STRENGTH,
) -> NDArray[np.float64]:
    """Return the weights (d + 1, 1) of a logistic regression for the texts that are labelled true, which are rare."""
    rows = np.vstack([features([*texts], language) for language, texts in labelled.items()])
    labels = [label for texts in labelled.values() for label in texts.values()]
    return fitted(rows, labels, [False, True], strength=strength, rare=True)


def fitted_to_shares(rows: NDArray[np.float32], shares: NDArray[np.float64], sparse: int = 0) -> NDArray[np.float64]:
    """Return the weights (d + 1, labels) of a logistic regression to the probability of each label (n, labels).

    So many first features are ``sparse``, mostly 0, and multiplied as such.
    """
    import torch
    from torch.nn.functional import cross_entropy

    targets = torch.tensor(shares).float()
    return _fitted_with(lambda scores: cross_entropy(scores, targets), rows, shares.shape[1], sparse)


def fitted_to_known(rows: NDArray[np.float32], known: NDArray[np.float64], sparse: int = 0) -> NDArray[np.float64]:
    """Return the weights (d + 1, labels) of a logistic regression for each label on its own.

    ``known`` (n, labels) is 1, 0, or NaN where it is not known whether a row has the label. A 1 counts
    `_POSITIVE_WEIGHT` times. So many first features are ``sparse``.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    weights = torch.tensor(np.where(np.isnan(known), 0, np.where(known == 1, _POSITIVE_WEIGHT, 1))).float()
    targets = torch.tensor(np.nan_to_num(known)).float()

    def loss(scores: torch.Tensor) -> torch.Tensor:
        return binary_cross_entropy_with_logits(scores, targets, weights, reduction="sum") / len(rows)

    return _fitted_with(loss, rows, known.shape[1], sparse)


def _fitted_with(
    loss_of: Callable[[Any], Any], rows: NDArray[np.float32], labels: int, sparse: int
) -> NDArray[np.float64]:
    """Return the weights (d + 1, labels) whose mean loss of scores (n, labels) with an L2 penalty is least."""
    import torch

    inputs = torch.tensor(rows).float()
    first, others = inputs[:, :sparse].to_sparse(), inputs[:, sparse:]
    weights = torch.zeros(inputs.shape[1] + 1, labels, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=_ITERATIONS, history_size=10, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        fit = loss_of(first @ weights[:sparse] + others @ weights[sparse:-1] + weights[-1])
        value: torch.Tensor = fit + weights[:-1].square().sum() / (2 * _STRENGTH * len(rows))
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().double().numpy()


def digest_of(data: object) -> str:
    """Return the SHA-256 of what a training reads, which is stored with its weights.

    Of a text, this is also how the lists of clinical words read it: other readings of the same texts give other
    weights. Embeddings are left out, since a model's name says what they are.
    """
    return hashlib.sha256(repr(data).encode()).hexdigest()


def keep(path: Path, weights: dict[str, NDArray[np.generic]]) -> None:
    """Write the weights, and print the size of the file."""
    np.savez_compressed(path, **weights)  # type: ignore[arg-type]
    print(f"{path.name}: {path.stat().st_size // 1024} KB")
