"""Train the classifier of earlier episodes: ``python -m wardround.training.earlier_episodes``.

The training data are ``nodes/offline/earlier_episodes.toml``, and the sentences of the labelled cases that are not
among them. Run this again when one of them, or the lists that the features read, change (a test says when).
"""

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language
from nodes.offline.classifiers import told_features
from nodes.offline.consultation_words import concepts
from nodes.offline.earlier_episodes import WEIGHTS, sentences_to_learn
from wardround.training.fitting import LANGUAGES, digest_of, fitted_to_truth, keep
from wardround.training.labelled import labelled_cases


def sentences_with_labels(language: Language) -> dict[str, bool]:
    """Return recorded sentences, and whether they tell of an earlier episode."""
    facts = (fact for case, labels in labelled_cases() if case.language == language for fact in labels)
    return {fact.text: False for fact in facts} | sentences_to_learn(language)


def fingerprint() -> str:
    """Return the SHA-256 of what is learned from: the labelled sentences, and the names of the features' lists."""
    lists = [each.name for each in concepts("en")]
    return digest_of((lists, [sentences_with_labels(language) for language in LANGUAGES]))


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of `nodes/offline/earlier_episodes.py` in half precision."""
    labelled = {language: sentences_with_labels(language) for language in LANGUAGES}
    weights = fitted_to_truth(labelled, told_features)
    return {"fingerprint": np.array(fingerprint()), "tells": weights.astype(np.float16)}


if __name__ == "__main__":
    keep(WEIGHTS, train())
