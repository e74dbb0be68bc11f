"""The vocabulary of consultations, by which the offline rules understand questions, orders and advice.

In a language without patterns of its own (`cases.text.words.rules_of`), a question is matched to the record by shared
words, and is seldom recognised as an order, advice or a farewell.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from cases.text.words import rules_of, stem
from cases.text.words import words as cut
from cases.vocabulary import Language, data_file

_NOTHING = "(?!)"


@dataclass(frozen=True)
class Concept:
    """Something that a question can be about, with its patterns in questions and in the record.

    Attributes:
        kind: a part of the record, a complaint or habit, a part of the body, or a way of asking (when, how bad).
        region: for a part of the body: the region that imaging shows.
        seen: for a part of the body: what a report names of it, and questions do not.
        parts: for a part of the body: the parts of it that are imaged separately.
        sections: the sections of the record to search; all if empty.
    """

    name: str
    kind: Literal["section", "matter", "place", "frame"]
    asked: re.Pattern[str]
    recorded: re.Pattern[str]
    region: str
    seen: re.Pattern[str]
    parts: tuple[re.Pattern[str], ...]
    sections: tuple[str, ...]


@cache
def concepts(language: Language) -> tuple[Concept, ...]:
    """Return everything that a question can be about."""
    return tuple(
        Concept(
            name=entry["name"],
            kind=entry["kind"],
            asked=_compiled(entry[rules_of(language)], language),
            recorded=_compiled(entry.get(f"{rules_of(language)}_record", entry[rules_of(language)]), language),
            region=entry.get("region", ""),
            seen=_compiled(entry.get(f"{rules_of(language)}_seen", _NOTHING), language),
            parts=tuple(_compiled(part, language) for part in entry.get(f"{rules_of(language)}_parts", ())),
            sections=tuple(entry.get("sections", ())),
        )
        for entry in _words()["concept"]
    )


@cache
def pattern(group: str, language: Language) -> re.Pattern[str]:
    """Return the pattern of a group of words in a language."""
    return _compiled(_words()[group][rules_of(language)], language)


def in_known_words(text: str, language: Language) -> str:
    """Return a text with words that the classifiers have not learned replaced by learned words of the same meaning."""
    for word, known in _words()["known"].get(rules_of(language), {}).items():
        text = text.replace(word, known)
    return text


def matters_in(words: str, language: Language) -> list[str]:
    """Return the content words of a text: no function words, politeness or vague words."""
    return _content_words(words, language, _stopwords(language))


def named_in(advice: str, language: Language) -> list[str]:
    """Return the stems of what advice names, without words common to all advice: what is left could be carried out."""
    return [stem(word) for word in _content_words(advice, language, _advice_stopwords(language))]


def _content_words(words: str, language: Language, stopwords: frozenset[str]) -> list[str]:
    found: list[str] = []
    extends = False
    for word in cut(words):
        if extends and word == "过" and len(found[-1]) == 1:  # 戴 alone would say too little
            found[-1] += word
            extends = False
        elif _is_stopword(word, language, stopwords):
            extends = False
        elif extends and len(word) == 1:  # single characters that jieba separated make one word
            found[-1] += word
        else:
            found.append(word)
            extends = len(word) == 1
    return [word for word in found if len(word) > 1]


@cache
def _is_stopword(word: str, language: Language, stopwords: frozenset[str]) -> bool:
    """Whether a word is a stopword or, in Chinese, a compound of stopwords."""
    if word in stopwords or language != "zh":
        return word in stopwords
    return any(word[:cut] in stopwords and _is_stopword(word[cut:], language, stopwords) for cut in range(1, len(word)))


@cache
def _stopwords(language: Language) -> frozenset[str]:
    return frozenset(_words()["weightless"][rules_of(language)].split())


@cache
def _advice_stopwords(language: Language) -> frozenset[str]:
    return _stopwords(language) | frozenset(_words()["advice"][f"{rules_of(language)}_generic"].split())


def _compiled(source: str, language: Language) -> re.Pattern[str]:
    source = source.replace("\n", "")
    return re.compile(source if language == "zh" else rf"(?<![a-z0-9])(?:{source})", re.IGNORECASE)


def _words() -> dict[str, Any]:
    return data_file("nodes.offline", "consultation_words")
