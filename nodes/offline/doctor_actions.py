"""The kind of action a doctor takes: inquiry, advice, demand (a move on the spot), other topic or conclusion.

And whether a doctor's words ask for anything.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cases.text.ordered_tests import without_told_back
from cases.text.sentences import sentences
from cases.vocabulary import Language, patterns
from nodes.offline.classifiers import DECIMALS, asked_shares, logits, shared, top_probability
from nodes.offline.hearing import heard_tests, is_for_the_patient_to_do, is_order
from nodes.offline.meaning import ASKS, is_likely_of_history, subject_of
from nodes.offline.orders import is_specific
from nodes.offline.subjects import kind_named
from nodes.offline.topics import topic_of

Kind = Literal["inquiry", "advice", "demand", "other_topic", "conclusion"]
_KINDS: dict[str, Kind] = {
    "inquiry": "inquiry",
    "ambiguous": "inquiry",
    "advice": "advice",
    "vague_advice": "advice",
    "demand": "demand",
    "other_topic": "other_topic",
    "conclusion": "conclusion",
    "remark": "inquiry",  # the patient asks what a mere remark means
}
_PATTERNS = patterns("nodes.offline", "patterns")
_ASKING = ("inquiry", "ambiguous")
_MIN_ODDS = 3  # of all inquiries to open questions, to be preferred to them
_MIN_ASKING, _MIN_ASKING_UNMARKED = 0.075, 0.4  # probability that words with a question mark, and without, ask
_MIN_FAREWELL = 0.8  # probability of a turn that is a farewell as a whole
_MIN_OTHER_TOPIC = 0.5  # probability of small talk, to be taken as such
_MIN_TALK = 0.4  # probability of small talk, beside all questions, to ask for nothing on record


def kind_of(words: str, language: Language) -> Kind:
    """Return the kind of action."""
    return _KINDS[kind_label(words, language)]


def is_vague(words: str, language: Language) -> bool:
    """Whether a question is about nothing in particular."""
    return kind_label(words, language) in ("ambiguous", "remark")


def names_nothing(words: str, language: Language) -> bool:
    """Whether advice names neither an examination nor a treatment."""
    return kind_label(words, language) != "advice" and not (is_specific(words, language) or heard_tests(words))


@lru_cache(maxsize=4096)
def kind_label(words: str, language: Language) -> str:
    """Return which of ``KINDS`` the words are; a ``remark`` asks nothing.

    A farewell counts only as the last sentence, or if it is surely one and asks nothing, because a wrong end does more
    harm than a missed one.
    """
    words = without_told_back(words)
    if (announced := _announced(words)) != words and (label := kind_label(announced, language)) not in _ASKING:
        return label  # "I would like to take some blood, is that okay?"
    parts = sentences(words)
    if _asks_nothing(words):
        before = " ".join(each for each in parts if not ASKS.search(each))
        advised = kind_label(before, language) if before and any(map(ASKS.search, parts)) else "remark"
        return advised if "advice" in advised else "remark"  # "You need an ECG. Do you have any questions?"
    label, share = _likeliest(words, language)
    label = _by_its_words(label, words, language)
    is_farewell = label == "conclusion" and not ASKS.search(words) and share >= _MIN_FAREWELL
    is_of_last = label == "conclusion" and not is_farewell
    if len(parts) > 1 and (is_of_last or (label in _ASKING and _asks_nowhere(parts, language))):
        return kind_label(parts[-1], language)
    if label == "advice" or not heard_tests(words):
        return label
    if label == "demand":
        return "demand" if is_for_the_patient_to_do(words) else "advice"
    return "advice" if label == "conclusion" or is_order(words) else label  # a question may name a test


def _likeliest(words: str, language: Language) -> tuple[str, float]:
    """Return the likeliest kind, and the probability of its table of wordings, which the classifier predicts.

    Since inquiries have many tables, and open questions three, their probabilities are added before they are compared;
    open questions have to be likelier than any other table.
    """
    tables, scores = logits("kind", words, language)
    label, share = kind_named(tables[int(np.argmax(scores))]), top_probability(scores)
    if label == "other_topic" and share < _MIN_OTHER_TOPIC:
        label = "inquiry"  # "Still on the fags?"
    if label in _ASKING:
        asked, open_asked = (_kind_weight(kind, tables, scores) for kind in _ASKING)
        best = round(float(np.exp(scores.max())), DECIMALS)
        label = "ambiguous" if open_asked >= max(best, asked / _MIN_ODDS) else "inquiry"
    return label, share


def _by_its_words(label: str, words: str, language: Language) -> str:
    """Return the kind again where the words have a phrase, or a subject, that tells it better than the classifier."""
    is_open = kind_named(subject_of(words, language)) == "ambiguous"
    is_of_before = _PATTERNS["before_this"].search(words) and is_likely_of_history(words, language)
    if label == "ambiguous" and is_of_before and is_asking(words, language):
        label = "inquiry"  # 以前身体怎么样？
    if label == "inquiry" and is_open and not topic_of(words, language).clinical:
        label = "ambiguous"  # "Where shall we begin?"
    if label in _ASKING and _is_talk(words, language):
        label = "other_topic"
    if label == "other_topic" and _PATTERNS["asks_for_more"].search(words):
        label = "ambiguous"
    is_no_request = ASKS.search(words) and not _PATTERNS["requests"].search(words)
    if (label == "demand" and is_no_request) or (label not in _ASKING and _PATTERNS["asks_to_tell"].search(words)):
        label = "inquiry"  # "And lying on your back?"
    return "remark" if label == "vague_advice" and _PATTERNS["supposes"].search(words) else label


@lru_cache(maxsize=4096)
def is_asking(words: str, language: Language) -> bool:
    """Whether the words probably ask for something on record: the total probability of the tables that do is enough.

    Nor may they be small talk, which is learned beside all questions.
    """
    if _asks_nothing(words) or _is_talk(words, language):
        return False
    tables, scores = logits("kind", words, language)
    probabilities = shared(scores.astype(np.float64))
    asks = [kind_named(table) in _ASKING and table != "results" for table in tables]
    is_marked = ASKS.search(words) or _PATTERNS["asks_to_tell"].search(words)
    return float(probabilities[asks].sum()) >= (_MIN_ASKING if is_marked else _MIN_ASKING_UNMARKED)


def without_consent(words: str, language: Language) -> str:
    """Return a turn without the mark of a question that only asks whether something may be done: it asks for no fact.

    What is left has to be no question: of "Is the pain worse at night, okay?" the mark stays.
    """
    announced = _announced(words)
    return words if announced == words or kind_label(announced, language) in _ASKING else announced


def _announced(words: str) -> str:
    """Return what a turn says will be done, if its only question is whether it may be."""
    if _PATTERNS["asks_leave"].match(words):
        announced = words.rstrip("?？ ") + "."
    else:
        announced = _PATTERNS["asks_consent"].sub(".", words)
        announced = announced if _PATTERNS["announces"].search(announced) else words
    return words if ASKS.search(announced) else announced


def _is_talk(words: str, language: Language) -> bool:
    """Whether words are small talk, beside all questions."""
    is_talk = asked_shares(words, language)[-1] >= _MIN_TALK
    return bool(is_talk) and not _PATTERNS["asks_for_more"].search(words)


def _asks_nothing(words: str) -> bool:
    """Whether each sentence says who is speaking, what somebody else says, or that something is usual.

    Of a turn with question marks, whether each question is for the patient's own.
    """
    said = sentences(words)
    asked = [each for each in said if ASKS.search(each)]
    name = "invites_questions" if asked else "asks_nothing"
    return bool(said) and all(_PATTERNS[name].search(part) for part in asked or said)


def _asks_nowhere(parts: Sequence[str], language: Language) -> bool:
    """Whether no sentence of a turn asks, by mark or by itself: "You have pneumonia. Take these tablets."."""
    return not any(ASKS.search(part) or kind_label(part, language) in _ASKING for part in parts)


def _kind_weight(kind: str, tables: Sequence[str], scores: NDArray[np.float32]) -> float:
    """Return the unnormalised probability of a kind, added over its tables."""
    return round(
        sum(float(np.exp(scores[at])) for at, table in enumerate(tables) if kind_named(table) == kind), DECIMALS
    )
