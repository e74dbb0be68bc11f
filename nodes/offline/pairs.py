"""A classifier of pairs: whether a recorded sentence answers a question.

Its score is the sum of three parts: a linear one on features of the pair, a bilinear one of the matters that the
question asks for with those that the sentence tells (`meaning.py`) and its section, and the highest low-rank bilinear
product of the question's embedding with that of the sentence or one of its clauses. It is trained on questions about
records, as a choice between the sentences of the record and no answer (`wardround.training.answers`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cases.text.jargon import in_lay_words
from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language
from nodes.offline.classifiers import PAIR_WEIGHTS, shares, told_shares, without_listed_tests
from nodes.offline.consultation_words import Concept, in_known_words, pattern
from nodes.offline.meaning import subject_of
from nodes.offline.stored_weights import weights_in
from nodes.offline.subjects import words_of
from nodes.offline.topics import Topic, topic_of, words_in
from retrieval import MULTILINGUAL_MODEL, embed

_CLAUSE = re.compile(r"[,;:，；：]|\band\b|\bbut\b")
_MIN_LENGTH = {True: 6, False: 2}  # characters of a clause, by whether it is ASCII
_TYPICAL_SIMILARITY = 0.4  # cosine similarity of a question with its answer
_MIN_PROBABILITY = 0.01  # probabilities are clipped to [0.01, 0.99] before their logit
_DECIMALS = 3


def answer_scores(question: str, facts: Sequence[RecordSentence], language: Language) -> NDArray[np.float64]:
    """Return the score of each fact as an answer to the question (n,); all facts are of one record's histories.

    A score is the logarithm of how much more probable this fact is as the answer than that nothing recorded answers.
    """
    return _scores(in_known_words(question, language), tuple(with_known_words(facts, language)), language)


def with_known_words(facts: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """Return the facts with words that no training data have replaced by learned words of the same meaning."""
    return [RecordSentence(fact.section, in_known_words(fact.text, language)) for fact in facts]


@lru_cache(maxsize=1024)  # the tracker, the memory bank and the denial need the same
def _scores(question: str, facts: tuple[RecordSentence, ...], language: Language) -> NDArray[np.float64]:
    if not facts:
        return np.zeros(0)
    _embed_together(facts)
    told, about = told_shares([fact.text for fact in facts], language), shares(question, language)
    # Linear (d + 1,), of matters with matters and sections, and two projections (d + 1, rank).
    weights = weights_in(PAIR_WEIGHTS, np.float64)
    scores = features(question, facts, language, about, told) @ weights["answers"][:-1] + weights["answers"][-1]
    scores += tells_where(facts, told) @ weights["answers_by_matter"].T @ about
    question_projection = with_bias(_question_embedding(question)) @ weights["answers_asked"]
    scores += [float((_projections(fact.text) @ question_projection.T).max()) for fact in facts]
    rounded: NDArray[np.float64] = np.round(scores, _DECIMALS)
    return rounded


@lru_cache(maxsize=64)  # every question about a record needs them
def _embed_together(facts: tuple[RecordSentence, ...]) -> None:
    """Embed all sentences of a record in one call, since each call that has new texts writes the user's cache."""
    embed([part for fact in facts for part in said_in(fact.text)], MULTILINGUAL_MODEL)


def tells_where(facts: Sequence[RecordSentence], told: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that each of n facts tells each matter, and a one-hot code of its section.

    The shape is (n, matters + sections).
    """
    return np.hstack([told, [[float(fact.section == section) for section in HISTORIES] for fact in facts]])


def with_bias(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the rows with a last column of ones for the bias (n, d + 1)."""
    return np.hstack([rows, np.ones((len(rows), 1))])


@lru_cache(maxsize=1024)
def _question_embedding(question: str) -> NDArray[np.float32]:
    """Return the embedding of a question (1, d)."""
    return embed([without_listed_tests(question)], MULTILINGUAL_MODEL)


@lru_cache(maxsize=4096)
def _projections(text: str) -> NDArray[np.float64]:
    """Return the low-rank projections of a sentence and its clauses (n, rank)."""
    weights = weights_in(PAIR_WEIGHTS, np.float64)["answers_told"]
    projections: NDArray[np.float64] = with_bias(meanings(text)) @ weights
    return projections


@lru_cache(maxsize=4096)
def meanings(text: str) -> NDArray[np.float32]:
    """Return the embeddings of a recorded sentence and, if it has several, of its clauses (n, d)."""
    return embed(said_in(text), MULTILINGUAL_MODEL)


def said_in(text: str) -> list[str]:
    """Return a recorded sentence and, if it has several, its clauses."""
    parts = [part.strip(" .。") for part in _CLAUSE.split(text)]
    parts = [part for part in parts if len(part) >= _MIN_LENGTH[part.isascii()]]
    return list(dict.fromkeys([text, *parts])) if len(parts) > 1 else [text]


def features(
    question: str,
    facts: Sequence[RecordSentence],
    language: Language,
    about: NDArray[np.float64],
    told: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the features of a question with each of n facts (n, d).

    Args:
        question: a doctor's question.
        facts: sentences of the histories of one record.
        language: of both.
        about: the probability of each matter that the question asks for (matters,).
        told: the probability that each fact tells each matter (n, matters).
    """
    tells = _logit(told @ about)
    embedding = _question_embedding(question)[0]
    similarity = np.array([(meanings(fact.text) @ embedding).max() for fact in facts])
    return np.column_stack(
        [
            tells,
            tells - max(tells.max(), 0),
            similarity,
            similarity - max(similarity.max(), _TYPICAL_SIMILARITY),
            _word_features(question, facts, language),
        ]
    )


def _word_features(question: str, facts: Sequence[RecordSentence], language: Language) -> NDArray[np.float64]:
    """Return features of the words and concepts that a question shares with each fact (n, 11)."""
    topic, usual_words = topic_of(question, language), words_of(subject_of(question, language), language)
    words = tuple(word for word in topic.words if word not in usual_words)
    subject_words = tuple(word for word in topic.words if word in usual_words)
    clinical = pattern("clinical", language)
    names_clinical, is_clinical = any(map(clinical.search, words)), clinical.search(question) is not None
    rows = []
    for fact in facts:
        is_apart = stand_apart(topic, fact.text)
        has_matter = not is_apart and any(has(matter, fact) for matter in topic.matters)
        has_place = not is_apart and any(has(place, fact) for place in topic.places)
        text = in_everyday_words(fact.text)
        shared = words_in(text, words)
        rows.append(
            [
                has_matter,
                bool(topic.matters) and not has_matter,
                bool(topic.places),
                has_place,
                bool(topic.places) and not has_place,
                min(shared, 3),
                shared / max(1, len(words)),
                bool(words) and not shared,
                names_clinical and not shared,
                words_in(text, subject_words) > 0,
                is_clinical,
            ]
        )
    return np.array(rows, float)


def stand_apart(topic: Topic, text: str) -> bool:
    """Whether a text names a matter and a body part of the topic, but in no clause both: pain here, a rash there."""

    def has_both(part: str) -> bool:
        return all(any(each.recorded.search(part) for each in concepts) for concepts in (topic.matters, topic.places))

    return has_both(text) and not any(map(has_both, _CLAUSE.split(text)))


def has(concept: Concept, fact: RecordSentence) -> bool:
    """Whether a fact speaks of a concept, in a section where the record is searched for it."""
    return (not concept.sections or fact.section in concept.sections) and concept.recorded.search(fact.text) is not None


@lru_cache(maxsize=4096)
def in_everyday_words(text: str) -> str:
    """Return a sentence with its jargon in everyday words appended, so that high blood pressure finds hypertension."""
    lay = in_lay_words(text, "en") if text.isascii() else text
    return text if lay == text else f"{text} {lay}"


def _logit(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(probability, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    logit: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return logit
