"""Train the classifier of sentences that decline to ask: ``python -m wardround.training.declined``.

The training data are ``scoring/clini_eval/declined.toml``, and all wordings of ``nodes/offline`` as sentences that do
not. Run this again when one of them changes (a test says when).
"""

import numpy as np
from numpy.typing import NDArray

from nodes.offline.subjects import questions, wordings
from scoring.clini_eval.declined import WEIGHTS, features, sentences_to_learn
from wardround.training.fitting import LANGUAGES, digest_of, fitted, keep


def sentences_with_labels() -> list[tuple[str, bool]]:
    """Return sentences, and whether they decline to ask."""
    declining = [text for language in LANGUAGES for text in sentences_to_learn("declines", language)]
    others = [
        text
        for language in LANGUAGES
        for texts in (*wordings(language).values(), *questions(language).values(), sentences_to_learn("asks", language))
        for text in texts
    ]
    return [*((text, True) for text in declining), *((text, False) for text in dict.fromkeys(others))]


def fingerprint() -> str:
    """Return the SHA-256 of the training data."""
    return digest_of(sentences_with_labels())


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of `scoring/clini_eval/declined.py` in half precision."""
    texts, labels = zip(*sentences_with_labels(), strict=True)
    weights = fitted(features(texts), labels, [False, True], strength=3, rare=True)
    return {"fingerprint": np.array(fingerprint()), "declines": weights.astype(np.float16)}


if __name__ == "__main__":
    keep(WEIGHTS, train())
