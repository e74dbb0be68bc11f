"""Train what tells an English paraphrase from its opposite: ``python -m wardround.training.same_meaning``.

The training data are ``scoring/metrics/clauses.toml`` and, as clauses that say something else, those beside each other
in the records of the built-in cases of the split ``train``, as many of them denials. Run this again when one of them
changes (a test says when).
"""

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from cases import load_cases
from cases.vocabulary import data_file
from retrieval import embed
from scoring.consultation import reference_parts
from scoring.metrics.content import clauses_of
from scoring.metrics.opposites import Clause
from scoring.metrics.same_meaning import WEIGHTS, likenesses, with_products, word_likenesses
from wardround.training.fitting import digest_of, fitted, keep

_FROM_TOPIC, _FROM_ELSEWHERE, _FROM_RECORD = 3, 3, 7  # further clauses beside each one that say something else
_STRENGTH = 0.03
_WORDS = range(2, 13)  # of a clause of a record

Pair = tuple[str, str, bool]


def pairs() -> list[Pair]:
    """Return pairs of clauses, and whether they say the same."""
    topics: list[list[list[str]]] = [topic["clauses"] for topic in data_file("scoring.metrics", "clauses")["topic"]]
    found: list[Pair] = []
    for place, topic in enumerate(topics):
        random = Random(place)
        others = [topic for topic in topics if topic is not topics[place]]
        for at, (clause, same, opposite, other) in enumerate(topic):
            found += [(one, two, True) for one, two in ((clause, same), (same, clause))]
            found += [(one, two, False) for one in (clause, same) for two in (opposite, other)]
            beside = random.sample([row for row in topic if row is not topic[at]], _FROM_TOPIC)
            beside += [random.choice(random.choice(others)) for _ in range(_FROM_ELSEWHERE)]
            found += [(clause, random.choice(row), False) for row in beside]
    return [*found, *_beside_in_records()]


def _beside_in_records() -> Iterator[Pair]:
    for case in load_cases():
        if (case.language, case.split) == ("en", "train"):
            parts = reference_parts(case)
            found = [
                clause
                for part in (parts.symptoms, parts.examinations, parts.treatment)
                for clause in clauses_of(part)
                if len(clause.mentions) in _WORDS
            ]
            random = Random(case.id)
            for among in (found, [clause for clause in found if clause.denied]):
                for _ in range(_FROM_RECORD if len(among) > 1 else 0):
                    one, other = random.sample(among, 2)
                    yield one.text, other.text, False


def fingerprint() -> str:
    """Return the SHA-256 of the training data: the pairs, with the features of their words."""
    return digest_of([(*pair, word_likenesses(_clause(pair[0]), _clause(pair[1]))) for pair in pairs()])


def train() -> dict[str, NDArray[np.generic]]:
    """Return the weights of `scoring/metrics/same_meaning.py`."""
    found = pairs()
    texts = list(dict.fromkeys(text for *two, _ in found for text in two))
    vectors = dict(zip(texts, embed(texts), strict=True))
    rows = np.vstack(
        [likenesses(_clause(one), [_clause(other)], [float(vectors[one] @ vectors[other])]) for one, other, _ in found]
    )
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    products = with_products((rows - center) / scale)
    spread = products.std(axis=0)
    weights = fitted(products / spread, [same for *_, same in found], [False, True], strength=_STRENGTH)[:, 0]
    weights[:-1] /= spread
    return {"fingerprint": np.array(fingerprint()), "center": center, "scale": scale, "weights": weights}


def _clause(text: str) -> Clause:
    """Return a text as one clause."""
    return Clause(text, [each for clause in clauses_of(text) for each in clause.mentions])


if __name__ == "__main__":
    keep(WEIGHTS, train())
