"""Linear classifiers of a doctor's words (kind of action, subject, what they ask for) and of recorded sentences.

The features are a multilingual sentence embedding (`retrieval.embed`), so that training data in one language serve the
other, and which entries of the lists of clinical words occur; for what a question asks for also its n-grams. The fourth
classifier predicts what a recorded sentence tells. The weights come with the package. Those of kind and subject are
trained on `wordings.toml`, `questions.toml` and the development items of the tracker's test set
(`python -m wardround.training.meaning`); those of what is asked for and what is told, which have the matters of
`told.toml` as labels, with the scores of `pairs.py`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.text.words import rules_of
from cases.vocabulary import Language
from nodes.offline.consultation_words import concepts, pattern
from nodes.offline.grams import BUCKETS, hashed_grams
from nodes.offline.orders import is_specific, names_examination
from nodes.offline.stored_weights import weights_in
from nodes.offline.topics import topic_of
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "meaning.npz"))
PAIR_WEIGHTS = Path(str(files("nodes.offline") / "pairs.npz"))
_LIST_SCALE = 0.15  # scale of the list features beside the embedding
_TOLD_LIST_SCALE = 0.3  # the same for recorded sentences
_GRAM_SCALE = 2.0  # length of a question's n-grams beside the embedding
_TOLD_GRAM_SCALE = 1.5  # the same for recorded sentences, which often list many matters in a word each
DECIMALS = 3  # of logits, so that ties do not depend on the machine; the first label then wins


def shares(words: str, language: Language) -> NDArray[np.float64]:
    """Return the probability of each matter that a question may ask for (matters,); the rest to 1 is small talk."""
    return asked_shares(words, language)[:-1]


@lru_cache(maxsize=4096)
def asked_shares(words: str, language: Language) -> NDArray[np.float64]:
    """Return the probability of each matter that words may ask for, and of small talk (matters + 1,)."""
    return shared(_matter_logits("asked", asked_input(words, language)))


def asked_input(words: str, language: Language) -> NDArray[np.float64]:
    """Return the `asked_features` of a text with a final 1 for the bias (d + 1,)."""
    return np.append(_grams(without_listed_tests(words), language, _GRAM_SCALE), _input(words, language))


def told_shares(texts: Sequence[str], language: Language) -> NDArray[np.float64]:
    """Return the probability that each recorded sentence tells each matter (n, matters)."""
    scores = np.array([_told_logits(text, language) for text in texts])
    probabilities: NDArray[np.float64] = 1 / (1 + np.exp(-scores))
    return probabilities


def logits(head: str, words: str, language: Language) -> tuple[list[str], NDArray[np.float32]]:
    """Return the labels of a head, and their logits for these words (labels,)."""
    stored = weights_in(WEIGHTS)  # (d + 1, labels); the last row is the bias
    return stored[f"{head}_labels"], np.round(_input(words, language) @ stored[head], DECIMALS)


def shared(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of logits over the last axis."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def top_probability(scores: NDArray[np.float32]) -> float:
    """Return the softmax probability of the best label."""
    return float(1 / np.exp(scores - scores.max()).sum())


def features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each text for kind and subject (n, d)."""
    listed = _LIST_SCALE * np.array([list_features(text, language) for text in texts], np.float32)
    embedded = embed([without_listed_tests(text) for text in texts], MULTILINGUAL_MODEL)
    rows: NDArray[np.float32] = np.hstack([embedded, listed]).astype(np.float32)
    return rows


def asked_features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each text for what it asks for: its n-grams, then `features` (n, `BUCKETS` + d)."""
    grams = [_grams(without_listed_tests(text), language, _GRAM_SCALE) for text in texts]
    return np.hstack([grams, features(texts, language)])


def told_features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each recorded sentence for what it tells: its n-grams, then others (n, `BUCKETS` + d)."""
    grams = [_grams(text, language, _TOLD_GRAM_SCALE) for text in texts]
    occurs = [
        [float(each.search(text) is not None) for about in concepts(language) for each in (about.recorded, about.asked)]
        for text in texts
    ]
    listed = np.float32(_TOLD_LIST_SCALE) * np.array(occurs, np.float32)
    return np.hstack([grams, embed(texts, MULTILINGUAL_MODEL), listed])


def without_listed_tests(text: str) -> str:
    """Return the text to embed, without a list of examinations ("Please have these done: ...").

    Such a list counts in the list features only.
    """
    said, colon, listed = text.partition(": ")
    return said if colon and names_examination(listed) else text


def list_features(text: str, language: Language) -> tuple[float, ...]:
    """Return which concepts occur in the text, then six features of the text as a whole."""
    topic = topic_of(text, language)
    clinical = topic.clinical > 0 or pattern("clinical", language).search(text) is not None
    asks = re.search(r"[?？吗呢]", text) is not None
    specific = is_specific(text, language)
    unknown = not clinical and not topic.frames and bool(topic.words)
    named = topic.names
    occurs = [concept.name in named for concept in concepts(language)]
    return tuple(float(sign) for sign in (*occurs, clinical, asks, specific, unknown, topic.is_empty, not topic.words))


def _grams(text: str, language: Language, scale: float) -> NDArray[np.float32]:
    """Return the scaled n-grams of a text; none in a language that nothing was learned in, where they mean nothing."""
    is_learned = rules_of(language) == language
    return np.float32(scale) * (hashed_grams(text) if is_learned else np.zeros(BUCKETS, np.float32))


@lru_cache(maxsize=2048)  # shared by the heads
def _input(words: str, language: Language) -> NDArray[np.float64]:
    """Return the features of a text with a final 1 for the bias (d + 1,)."""
    return np.append(features([words], language)[0], 1)


@lru_cache(maxsize=4096)  # every question about a record needs them
def _told_logits(text: str, language: Language) -> NDArray[np.float64]:
    """Return the logit of each matter for a recorded sentence (matters,)."""
    return _matter_logits("told", np.append(told_features([text], language)[0], 1))


def _matter_logits(head: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logit of each matter (matters,) for features with a final 1 for the bias."""
    given = np.flatnonzero(inputs)  # few of the n-grams
    weights: NDArray[np.float64] = weights_in(PAIR_WEIGHTS, np.float64)[head]  # (d + 1, matters), the bias last
    return np.round(inputs[given] @ weights[given], DECIMALS)
