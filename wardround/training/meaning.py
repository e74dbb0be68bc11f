"""Train the classifiers of a doctor's words: ``python -m wardround.training.meaning``.

The training data are the wordings of ``nodes/offline/wordings.toml``; for the subject also ``questions.toml``; for the
kind of action also the development items of the tracker's test set. Run this again when one of them, or a list that the
features read, changes (a test says when), and then `wardround.training.answers`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language
from nodes.offline.classifiers import WEIGHTS, features, list_features, without_listed_tests
from nodes.offline.subjects import KINDS, further_questions, idioms, questions, subjects, wordings
from prompts import mark
from wardround.training.fitting import LANGUAGES, digest_of, fitted, keep
from wardround.training.labelled import labelled_turns

TALK = "other_topic"


def kinds_to_learn(language: Language) -> list[tuple[str, str]]:
    """Return doctors' words with their kind of action: wordings with the name of their table, and development items."""
    labelled = labelled_turns(language)
    labelled_wordings = [(text, name) for name, texts in wordings(language).items() for text in texts]
    return _with_remarks([*labelled_wordings, *labelled], language)


def _with_remarks(pairs: Sequence[tuple[str, str]], language: Language) -> list[tuple[str, str]]:
    """Return the pairs, and each again after a remark, which doctors often make before they ask."""
    remarks, space = wordings(language)["remark"], mark("space", language)
    after = [
        (remarks[place % len(remarks)] + space + text, label)
        for place, (text, label) in enumerate(pairs)
        if label != "remark"
    ]
    return [*pairs, *after]


def subjects_to_learn(language: Language) -> list[tuple[str, str]]:
    """Return questions with their subjects: wordings, idioms, and questions by other people."""
    return [
        (text, name)
        for name, texts in wordings(language).items()
        if name in subjects()
        for text in (*texts, *idioms(language)[name], *questions(language)[name])
    ]


def questions_to_learn(language: Language) -> list[tuple[str, str]]:
    """Return questions with what they ask for: those of `subjects_to_learn`, and further ones.

    What the latter ask for is a subject or a matter. The subject itself is not learned from them: nothing more is told
    for it, and more remarks get an answer.
    """
    further = [(text, name) for name, texts in further_questions(language).items() if name != TALK for text in texts]
    return [*subjects_to_learn(language), *further]


def fingerprint() -> str:
    """Return the SHA-256 of what kind and subject are learned from: the texts as the features read them, labelled."""
    return digest_of(
        [
            (without_listed_tests(text), list_features(text, language), label)
            for language in LANGUAGES
            for text, label in (*kinds_to_learn(language), *subjects_to_learn(language))
        ]
    )


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of kind and subject (`nodes/offline/classifiers.py`): half precision, both languages."""
    kinds = list(dict.fromkeys([*wordings("en"), *KINDS]))
    asked = seen({language: subjects_to_learn(language) for language in LANGUAGES})
    return {
        "fingerprint": np.array(fingerprint()),
        "kind_labels": np.array(kinds),
        "kind": fitted(*seen({language: kinds_to_learn(language) for language in LANGUAGES}), kinds).astype(np.float16),
        "subject_labels": np.array(list(subjects())),
        "subject": fitted(*asked, list(subjects()), balanced=True).astype(np.float16),  # some are rarely asked
    }


def seen(pairs: Mapping[Language, Sequence[tuple[str, str]]]) -> tuple[NDArray[np.float32], list[str]]:
    """Return the features of the texts of all languages (n, d), and their labels."""
    rows = [features([text for text, _ in in_language], language) for language, in_language in pairs.items()]
    return np.vstack(rows), [label for in_language in pairs.values() for _, label in in_language]


if __name__ == "__main__":
    keep(WEIGHTS, train())
