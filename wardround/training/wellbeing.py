"""Train the classifier of questions whether something is as it should be: ``python -m wardround.training.wellbeing``.

The training data are ``nodes/offline/wellbeing.toml``, and the questions of ``nodes/offline`` that are not among them.
Run this again when one of them, or the number of the lists that the features read, changes (a test says when).
"""

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language
from nodes.offline.classifiers import asked_features
from nodes.offline.consultation_words import concepts
from nodes.offline.meaning import ASKS
from nodes.offline.record_answers import asks_openly
from nodes.offline.subjects import further_questions, questions, wordings
from nodes.offline.wellbeing import WEIGHTS, questions_to_learn
from wardround.training.fitting import LANGUAGES, digest_of, fitted_to_truth, keep


def questions_with_labels(language: Language) -> dict[str, bool]:
    """Return questions, and whether they ask if something is well; those that no yes or no answers are left out."""
    others = {
        text: False
        for tables in (wordings(language), questions(language), further_questions(language))
        for texts in tables.values()
        for text in texts
        if ASKS.search(text) and not asks_openly(text)
    }
    return others | questions_to_learn(language)


def fingerprint() -> str:
    """Return the SHA-256 of what is learned from: the labelled questions, and the names of the lists of the features.

    How the lists read each of 21,000 questions, as for the other weights, would take seconds, and moves these little.
    """
    lists = [each.name for each in concepts("en")]
    return digest_of((lists, [questions_with_labels(language) for language in LANGUAGES]))


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of `nodes/offline/wellbeing.py` in half precision."""
    labelled = {language: questions_with_labels(language) for language in LANGUAGES}
    weights = fitted_to_truth(labelled, asked_features, strength=1)
    return {"fingerprint": np.array(fingerprint()), "well": weights.astype(np.float16)}


if __name__ == "__main__":
    keep(WEIGHTS, train())
