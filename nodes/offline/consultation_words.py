"""What the words of a consultation stand for, for the rules that work without a model.

In a language without patterns of its own (`cases.text.words.rules_of`), a question is about the words that it shares
with the record, and seldom heard as an order, advice or a farewell.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from cases.text.words import rules_of, stem
from cases.text.words import words as cut
from cases.vocabulary import Language, data_file


@dataclass(frozen=True)
class Concept:
    """Something that a question can be about, and how the question and the record call it.

    Attributes:
        kind: a part of the record, a complaint or habit, a part of the body, or how something is asked for.
        region: of a part of the body: the part that pictures are taken of.
        parts: of such a part: those of which a picture shows one and not the others.
        sections: where alone the record is searched for it; everywhere if empty.
    """

    name: str
    kind: Literal["section", "matter", "place", "frame"]
    asked: re.Pattern[str]
    recorded: re.Pattern[str]
    region: str
    parts: tuple[re.Pattern[str], ...]
    sections: tuple[str, ...]


@cache
def concepts(language: Language) -> tuple[Concept, ...]:
    """Everything that a question can be about."""
    return tuple(
        Concept(
            name=entry["name"],
            kind=entry["kind"],
            asked=_compiled(entry[rules_of(language)], language),
            recorded=_compiled(entry.get(f"{rules_of(language)}_record", entry[rules_of(language)]), language),
            region=entry.get("region", ""),
            parts=tuple(_compiled(part, language) for part in entry.get(f"{rules_of(language)}_parts", ())),
            sections=tuple(entry.get("sections", ())),
        )
        for entry in _words()["concept"]
    )


@cache
def pattern(group: str, name: str, language: Language) -> re.Pattern[str]:
    """The pattern of a group in a language; ``name`` is empty or what is added to the language's key."""
    return _compiled(_words()[group][f"{rules_of(language)}_{name}" if name else rules_of(language)], language)


def matters_in(words: str, language: Language) -> list[str]:
    """The words that carry the meaning of a text: neither function words, nor politeness, nor vague ones."""
    return _weighty(words, language, _weightless(language))


def named_in(advice: str, language: Language) -> list[str]:
    """The stems of what advice names, without what any advice may speak of: what is left could be carried out."""
    return [stem(word) for word in _weighty(advice, language, _generic(language))]


def _weighty(words: str, language: Language, empty: frozenset[str]) -> list[str]:
    kept: list[str] = []
    joined = False
    for word in cut(words):
        if joined and word == "过" and len(kept[-1]) == 1:  # 戴过 is a matter, where 戴 alone would say too little
            kept[-1] += word
            joined = False
        elif _is_empty(word, language, empty):
            joined = False
        elif joined and len(word) == 1:  # neighbours that jieba left apart are one word of ours
            kept[-1] += word
        else:
            kept.append(word)
            joined = len(word) == 1
    return [word for word in kept if len(word) > 1]


@cache
def _is_empty(word: str, language: Language, empty: frozenset[str]) -> bool:
    """Whether a word is on the list, or made of Chinese ones that are."""
    if word in empty or language != "zh":
        return word in empty
    return any(word[:cut] in empty and _is_empty(word[cut:], language, empty) for cut in range(1, len(word)))


@cache
def _weightless(language: Language) -> frozenset[str]:
    return frozenset(_words()["weightless"][rules_of(language)].split())


@cache
def _generic(language: Language) -> frozenset[str]:
    return _weightless(language) | frozenset(_words()["advice"][f"{rules_of(language)}_generic"].split())


def _compiled(source: str, language: Language) -> re.Pattern[str]:
    source = source.replace("\n", "")
    return re.compile(source if language == "zh" else rf"(?<![a-z0-9])(?:{source})", re.IGNORECASE)


def _words() -> dict[str, Any]:
    return data_file("nodes.offline", "consultation_words")
