"""Whether a physician declines to ask in a sentence, as in "We can leave the matter of your medicines alone, yes?".

A linear classifier of the sentence's multilingual embedding, so that new wordings are understood, and of its words. It
was trained on `declined.toml` and on other questions (`wardround.training.declined`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.text.words import HAN
from cases.vocabulary import Language, data_file, normalise
from nodes.offline.stored_weights import weights_in
from retrieval import MULTILINGUAL_MODEL, embed
from retrieval.likeness import gram_rows

WEIGHTS = Path(str(files("scoring.clini_eval") / "declined.npz"))
_TOKEN = re.compile(f"[a-z]+(?:'[a-z]+)?|[{HAN}]")
_DECIMALS = 3


def sentences_to_learn(name: str, language: Language) -> list[str]:
    """Return the training sentences that are called ``declines`` or ``asks``."""
    text: str = data_file("scoring.clini_eval", "declined")[name][language]
    return text.splitlines()


@lru_cache(maxsize=4096)
def declines(sentence: str) -> bool:
    """Whether the sentence more probably declines to ask than asks."""
    weights = weights_in(WEIGHTS)["declines"][:, 0]  # the bias last (d + 1,)
    score = float(features([sentence])[0] @ weights[:-1] + weights[-1])
    return round(score, _DECIMALS) > 0


def features(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the features of sentences: their embeddings, and their words, in Chinese their characters (n, d)."""
    tokens = [_TOKEN.findall(normalise(text)) for text in texts]
    rows: NDArray[np.float32] = np.hstack([embed(texts, MULTILINGUAL_MODEL), gram_rows(tokens)])
    return rows
