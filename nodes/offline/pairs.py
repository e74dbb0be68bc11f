"""Whether a recorded sentence answers a question: a small linear classifier of the two together.

It weighs what the question may be about and what the sentence tells, each with its likelihood (`meaning.py`), the part
of the record, how near the two are by meaning, and which clinical words of the question stand in the sentence, beside
the other sentences of the same record. Trained on questions put to built-in cases (`wardround.run.train_meaning`).
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from cases.text.jargon import in_lay_words
from cases.text.record_sentences import HISTORIES, RecordSentence
from cases.vocabulary import Language
from nodes.offline.consultation_words import Concept, pattern
from nodes.offline.hearing import WEIGHTS
from nodes.offline.meaning import heard, matters_told, shares, subjects, told_shares, words_of
from nodes.offline.topics import Topic, topic_of, words_in
from retrieval import MULTILINGUAL_MODEL, embed

_CLAUSE = re.compile(r"[,;:，；：]|\band\b|\bbut\b")
_LEAST = 0.01  # shares nearer than this to 0 or 1 are no further apart
_DECIMALS = 3


def likely(question: str, facts: Sequence[RecordSentence], language: Language) -> NDArray[np.float64]:
    """How likely each of the facts of the histories of a record is to answer a question (n,)."""
    return _likely(question, tuple(facts), language)


@lru_cache(maxsize=1024)  # the tracker asks, then the memory bank, then who denies
def _likely(question: str, facts: tuple[RecordSentence, ...], language: Language) -> NDArray[np.float64]:
    if not facts:
        return np.zeros(0)
    told = told_shares([fact.text for fact in facts], language)
    rows = features(question, facts, language, shares(question, language), told)
    likely: NDArray[np.float64] = np.round(1 / (1 + np.exp(-rows @ _weights()[:-1] - _weights()[-1])), _DECIMALS)
    return likely


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
    near = embed([fact.text for fact in facts], MULTILINGUAL_MODEL) @ embed([heard(question)], MULTILINGUAL_MODEL)[0]
    return np.column_stack(
        [
            here,
            here - here.max(),
            anywhere,
            anywhere - anywhere.max(),
            _logit(within @ about),
            near,
            near - near.max(),
            near - near.mean(),
            np.full(len(facts), -(about * np.log(about + 1e-9)).sum()),
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
    """What each fact has of the words of the question, and the section in which it stands (n, 17)."""
    topic, usual = topic_of(question, language), words_of(subject, language)
    words = tuple(word for word in topic.words if word not in usual)
    of_subject = tuple(word for word in topic.words if word in usual)
    clinical = pattern("clinical", "", language)
    names_clinical, is_clinical = any(map(clinical.search, words)), clinical.search(question) is not None
    most = best(facts, topic)
    rows = []
    for fact in facts:
        names = any(has(matter, fact) for matter in topic.matters)
        is_there = any(has(place, fact) for place in topic.places)
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
                fact in most,
                *(fact.section == section for section in HISTORIES),
            ]
        )
    return np.array(rows, float)


def best(facts: Sequence[RecordSentence], topic: Topic) -> list[RecordSentence]:
    """The facts with most words and matters in common with a topic, in their order."""
    known = all(any(has(about, fact) for fact in facts) for about in (*topic.matters, *topic.places))
    scored = [(fact, _common(fact, topic, known and not topic.words)) for fact in facts]
    most = max((score for _, score in scored), default=0)
    return [fact for fact, score in scored if score == most] if most > 0 else []


def _common(fact: RecordSentence, topic: Topic, known: bool) -> float:
    """How much a fact has in common with the topic; 0 if it is about something else.

    Of what is ``known`` to be on record, a sentence of the present illness may tell more without naming it again.
    """
    of_the_illness = fact.section == "present_illness"
    frames = sum(1 for frame in topic.frames if frame.recorded.search(fact.text))
    alone = sum(1 for frame in topic.frames if frame.alone and frame.recorded.search(fact.text))
    more = 3 * (alone + (words_in(fact.text, topic.frame_words) if alone else 0)) * of_the_illness
    if not (topic.matters or topic.places or topic.words):
        return frames * of_the_illness
    words = words_in(in_everyday_words(fact.text), topic.words)
    matters = [matter for matter in topic.matters if has(matter, fact)]
    places = [place for place in topic.places if has(place, fact)]
    if not (matters or places or words):
        return more if known else 0
    if topic.places and (topic.matters or topic.words) and words < 2 and not (topic.matters and words):
        # Pain here and a rash there do not make a rash here: both must stand in one clause.
        together = any(
            place.recorded.search(clause)
            and (words_in(clause, topic.words) or any(matter.recorded.search(clause) for matter in matters))
            for clause in _CLAUSE.split(fact.text)
            for place in places
        )
        if not together:
            return more if known else 0
    if topic.matters and not matters and not words:
        return more if known else 0
    if not (topic.matters or topic.places) and 3 * words <= len(topic.words):
        return 0  # one word of many is chance
    return 2 * len(matters) + len(places) + words + 0.5 * frames + more


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
def _weights() -> NDArray[np.float64]:
    """The weights (d + 1,), the last of them the constant."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        weights: NDArray[np.float64] = stored["answers"].astype(np.float64)
        return weights
