"""Train what hears the meaning of a doctor's words without a model: ``python -m wardround.training.meaning``.

Learned from the wordings of ``nodes/offline/wordings.toml``, for the subject the questions of ``questions.toml`` too,
for the kind of action the development items of the tracker's test set, and for what recorded sentences tell from
``told.toml``; run this again when one of them, or a list that the features read, changes (a test says when), and then
`wardround.training.answers`.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language
from nodes.offline.consultation_words import concepts, pattern
from nodes.offline.meaning import (
    KINDS,
    WEIGHTS,
    features,
    idioms,
    matters_told,
    questions,
    subjects,
    told_features,
    wordings,
)
from prompts import mark
from wardround.training.fitting import LANGUAGES, fitted, keep
from wardround.training.labelled import labelled_turns, told_to_learn


def kinds_to_learn(language: Language) -> list[tuple[str, str]]:
    """Doctors' words with the kind of action that they are: wordings by their table, and the items for development."""
    labelled = labelled_turns(language)
    told = [(text, name) for name, texts in wordings(language).items() for text in texts]
    return _after_remarks([*told, *labelled], language)


def _after_remarks(pairs: Sequence[tuple[str, str]], language: Language) -> list[tuple[str, str]]:
    """The pairs, and each again after a remark: doctors say something of their own before they ask."""
    remarks, space = wordings(language)["remark"], mark("space", language)
    after = [
        (remarks[place % len(remarks)] + space + text, label)
        for place, (text, label) in enumerate(pairs)
        if label != "remark"
    ]
    return [*pairs, *after]


def subjects_to_learn(language: Language) -> list[tuple[str, str]]:
    """Questions, idioms and other people's among them, with what they are about."""
    return [
        (text, name)
        for name, texts in wordings(language).items()
        if name in subjects()
        for text in (*texts, *idioms(language)[name], *questions(language)[name])
    ]


def fingerprint() -> str:
    """SHA-256 of all that is learned from: the texts with their labels, and the lists that the signs are read from."""
    learned: list[object] = [[(text, sorted(told)) for text, told in each] for each in told_to_learn().values()]
    for language in LANGUAGES:
        learned += [kinds_to_learn(language), subjects_to_learn(language)]
        learned += [(concept.asked.pattern, concept.recorded.pattern) for concept in concepts(language)]
        learned += [pattern(group, "", language).pattern for group in ("clinical", "treatment")]
    return hashlib.sha256(repr(learned).encode()).hexdigest()


def train() -> dict[str, NDArray[np.generic]]:
    """The weights of the three heads of `nodes/offline/meaning.py`, in half precision; both languages together."""
    kinds = list(dict.fromkeys([*wordings("en"), *KINDS]))
    told = [(language, *pair) for language, pairs in told_to_learn().items() for pair in pairs]
    return {
        "fingerprint": np.array(fingerprint()),
        "kind_labels": np.array(kinds),
        "kind": fitted(*seen({language: kinds_to_learn(language) for language in LANGUAGES}), kinds).astype(np.float16),
        "subject_labels": np.array(list(subjects())),
        "subject": subject_head(*questions_seen()).astype(np.float16),
        "told_labels": np.array(matters_told()),
        "told": told_head(told).astype(np.float16),
    }


def seen(pairs: Mapping[Language, Sequence[tuple[str, str]]]) -> tuple[NDArray[np.float32], list[str]]:
    """What is seen of the texts of all languages (n, d), and the label of each."""
    rows = [features([text for text, _ in of_one], language) for language, of_one in pairs.items()]
    return np.vstack(rows), [label for of_one in pairs.values() for _, label in of_one]


def questions_seen() -> tuple[NDArray[np.float32], list[str]]:
    """What is seen of the questions of `subjects_to_learn`, of both languages (n, d), and what each is about."""
    return seen({language: subjects_to_learn(language) for language in LANGUAGES})


def subject_head(rows: NDArray[np.float32], named: Sequence[str]) -> NDArray[np.float64]:
    """The weights (d + 1, subjects) of what questions are about, of which each counts alike, seldom asked or often."""
    return fitted(rows, named, list(subjects()), balanced=True)


def told_head(told: Sequence[tuple[Language, str, frozenset[str]]]) -> NDArray[np.float64]:
    """The weights (d + 1, matters) of what recorded sentences tell."""
    recorded = np.vstack([told_features([text], language) for language, text, _ in told])
    return np.hstack(
        [fitted(recorded, [name in names for *_, names in told], [False, True], rare=True) for name in matters_told()]
    )


if __name__ == "__main__":
    keep(WEIGHTS, train())
