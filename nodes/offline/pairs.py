"""Whether a recorded sentence answers a question: a small classifier of the two together.

It weighs what the question may be about with what the sentence tells and where it stands, each with its likelihood
(`meaning.py`); the meaning of the question with that of the sentence and of each of its clauses, as near as they are
and as it was learned which belong together; and which clinical words of the question stand in the sentence, beside the
other sentences of the same record. Trained on questions put to built-in cases (`wardround.training.answers`).
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.text.jargon import in_lay_words
from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language
from nodes.offline.consultation_words import Concept, pattern
from nodes.offline.meaning import heard, matters_told, shares, subjects, told_shares, words_of
from nodes.offline.topics import Topic, topic_of, words_in
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "pairs.npz"))
_CLAUSE = re.compile(r"[,;:，；：]|\band\b|\bbut\b")
_SHORTEST = {True: 6, False: 2}  # characters of a clause, by whether it is Latin
_NEAR = 0.4  # how near to the question what answers it commonly is
_LEAST = 0.01  # shares nearer than this to 0 or 1 are no further apart
_DECIMALS = 3


def likely(question: str, facts: Sequence[RecordSentence], language: Language) -> NDArray[np.float64]:
    """How likely each of the facts of the histories of a record is to answer a question (n,)."""
    return _likely(question, tuple(facts), language)


@lru_cache(maxsize=1024)  # the tracker asks, then the memory bank, then who denies
def _likely(question: str, facts: tuple[RecordSentence, ...], language: Language) -> NDArray[np.float64]:
    if not facts:
        return np.zeros(0)
    told, about, weights = told_shares([fact.text for fact in facts], language), shares(question, language), _weights()
    scores = features(question, facts, language, about, told) @ weights["answers"][:-1] + weights["answers"][-1]
    scores += tells_where(facts, told) @ weights["answers_by_matter"].T @ about
    asked = with_one(_meaning(question)) @ weights["answers_asked"]
    scores += [float((_answering(fact.text) @ asked.T).max()) for fact in facts]
    likely: NDArray[np.float64] = np.round(1 / (1 + np.exp(-scores)), _DECIMALS)
    return likely


def tells_where(facts: Sequence[RecordSentence], told: NDArray[np.float64]) -> NDArray[np.float64]:
    """How likely each of n facts tells each matter, and the section in which it stands (n, matters + sections)."""
    return np.hstack([told, [[float(fact.section == section) for section in HISTORIES] for fact in facts]])


def with_one(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """The rows, the last column the constant (n, d + 1)."""
    return np.hstack([rows, np.ones((len(rows), 1))])


@lru_cache(maxsize=1024)
def _meaning(question: str) -> NDArray[np.float32]:
    """The embedding of a question (1, d)."""
    return embed([heard(question)], MULTILINGUAL_MODEL)


@lru_cache(maxsize=4096)
def _answering(text: str) -> NDArray[np.float64]:
    """The meanings of a recorded sentence, by what of them answers questions (n, rank)."""
    answering: NDArray[np.float64] = with_one(meanings(text)) @ _weights()["answers_told"]
    return answering


@lru_cache(maxsize=4096)
def meanings(text: str) -> NDArray[np.float32]:
    """The embeddings of a recorded sentence and, if there are several, of its clauses (n, d)."""
    return embed(said_in(text), MULTILINGUAL_MODEL)


def said_in(text: str) -> list[str]:
    """A recorded sentence and, if there are several, its clauses."""
    parts = [part.strip(" .。") for part in _CLAUSE.split(text)]
    parts = [part for part in parts if len(part) >= _SHORTEST[part.isascii()]]
    return list(dict.fromkeys([text, *parts])) if len(parts) > 1 else [text]


def features(
    question: str,
    facts: Sequence[RecordSentence],
    language: Language,
    about: NDArray[np.float64],
    told: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What the classifier sees of a question and each of n facts (n, d).

    Args:
        question: one of a doctor's.
        facts: of the histories of one record.
        language: of both.
        about: how likely the question is about each subject (subjects,).
        told: how likely each fact tells each matter (n, matters).
    """
    tells = _tells(facts, told)
    within = _within()[[HISTORIES.index(fact.section) for fact in facts]]
    here, anywhere = _logit((tells * within) @ about), _logit(tells @ about)
    asked = _meaning(question)[0]
    near = np.array([(meanings(fact.text) @ asked).max() for fact in facts])
    return np.column_stack(
        [
            here,
            here - max(here.max(), 0),
            anywhere,
            anywhere - max(anywhere.max(), 0),
            _logit(within @ about),
            near,
            near - max(near.max(), _NEAR),
            _words(question, facts, language, list(subjects())[int(about.argmax())]),
        ]
    )


def _tells(facts: Sequence[RecordSentence], told: NDArray[np.float64]) -> NDArray[np.float64]:
    """How likely each fact tells of each subject (n, subjects)."""
    tells: NDArray[np.float64] = (told[:, None, :] * _matters()[None]).max(axis=2)
    of_family = [fact.section == "family_history" for fact in facts]
    tells[of_family] = [name == "family" for name in subjects()]
    return tells


def _words(question: str, facts: Sequence[RecordSentence], language: Language, subject: str) -> NDArray[np.float64]:
    """What each fact has of the words of the question (n, 11)."""
    topic, usual = topic_of(question, language), words_of(subject, language)
    words = tuple(word for word in topic.words if word not in usual)
    of_subject = tuple(word for word in topic.words if word in usual)
    clinical = pattern("clinical", "", language)
    names_clinical, is_clinical = any(map(clinical.search, words)), clinical.search(question) is not None
    rows = []
    for fact in facts:
        apart = stand_apart(topic, fact.text)
        names = not apart and any(has(matter, fact) for matter in topic.matters)
        is_there = not apart and any(has(place, fact) for place in topic.places)
        text = in_everyday_words(fact.text)
        shared = words_in(text, words)
        rows.append(
            [
                names,
                bool(topic.matters) and not names,
                bool(topic.places),
                is_there,
                bool(topic.places) and not is_there,
                min(shared, 3),
                shared / max(1, len(words)),
                bool(words) and not shared,
                names_clinical and not shared,
                words_in(text, of_subject) > 0,
                is_clinical,
            ]
        )
    return np.array(rows, float)


def stand_apart(topic: Topic, text: str) -> bool:
    """Whether matter and part of the body are both spoken of, in no clause together: pain here and a rash there."""

    def are_in(part: str) -> bool:
        return all(any(each.recorded.search(part) for each in named) for named in (topic.matters, topic.places))

    return are_in(text) and not any(map(are_in, _CLAUSE.split(text)))


def has(concept: Concept, fact: RecordSentence) -> bool:
    """Whether a fact speaks of something that a question can name, and in a part of the record that it may stand in."""
    return (not concept.sections or fact.section in concept.sections) and concept.recorded.search(fact.text) is not None


@lru_cache(maxsize=4096)
def in_everyday_words(text: str) -> str:
    """A sentence, its jargon in everyday words beside it: who asks for high blood pressure means hypertension."""
    lay = in_lay_words(text, "en") if text.isascii() else text
    return text if lay == text else f"{text} {lay}"


@cache
def _matters() -> NDArray[np.float64]:
    """Which matters answer a question about each subject (subjects, matters)."""
    return np.array([[name in about.tells for name in matters_told()] for about in subjects().values()], float)


@cache
def _within() -> NDArray[np.float64]:
    """Whether a section is searched for each subject (sections, subjects)."""
    return np.array(
        [
            [
                section in about.sections
                or not (about.sections or section == "family_history" or about.names == ("results",))
                for about in subjects().values()
            ]
            for section in HISTORIES
        ],
        float,
    )


def _logit(share: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = np.clip(share, _LEAST, 1 - _LEAST)
    logit: NDArray[np.float64] = np.log(kept / (1 - kept))
    return logit


@cache
def _weights() -> dict[str, NDArray[np.float64]]:
    """The weights: of the features (d + 1,), of subjects with matters, and twice of meanings (d + 1, rank)."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float64) for name in stored if name.startswith("answers")}
