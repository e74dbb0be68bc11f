"""Whether a clause states the opposite of another one: a word for the opposite, or another number of the same unit."""

import re
from collections.abc import Collection, Sequence, Set
from functools import cache, lru_cache
from typing import NamedTuple

from cases.text.statements import Mention
from cases.text.words import has_chinese
from cases.vocabulary import word_list

SAME_THING = 0.3  # share of two clauses' words in both, from which they speak of one thing
ROOT = 5  # letters shared by forms of one English word
_NUMBER = re.compile(r"[0-9.]+")


class Clause(NamedTuple):
    """A clause as it is written, and its content words."""

    text: str
    mentions: list[Mention]


def has_opposite(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether the other clauses that share most with a clause, and much of it, all have a word for the opposite.

    Another number of the same unit, which none of all others has, is the opposite too.
    """
    words = {each.word for each in clause.mentions}
    shared = [_shared(words, {each.word for each in other.mentions}) for other in others]
    most = max(shared, default=0.0)
    nearest = [other for other, share in zip(others, shared, strict=True) if share == most >= SAME_THING]
    if not nearest:
        return False
    known = {each.word for other in others for each in other.mentions if each.exact}
    numbers = _measured(clause.mentions)
    unknown = {(number, unit) for number, unit in numbers if number not in known}
    return all(
        is_contrary(clause, other) or _units(unknown) & _units(_measured(other.mentions) - numbers) for other in nearest
    )


def _measured(clause: Sequence[Mention]) -> set[tuple[str, str]]:
    """Return the numbers of a clause, each with its unit: its own (8mm), or else the next word."""
    measured, next_word = set(), ""
    for each in reversed(clause):
        if each.exact:
            measured.add((each.word, _NUMBER.sub("", each.word) or next_word))
        else:
            next_word = each.word
    return measured


def _units(measured: Set[tuple[str, str]]) -> set[str]:
    return {unit for _, unit in measured}


def _shared(one: Set[str], other: Set[str]) -> float:
    """Return how much of the longer of two clauses, as sets of words, is in the other."""
    return len(one & other) / max(len(one), len(other), 1)


def denies(clause: Collection[Mention]) -> bool:
    """Whether any word of a clause is denied."""
    return any(each.negated for each in clause)


def is_contrary(one: Clause, other: Clause) -> bool:
    """Whether one clause has a word and the other its opposite, as in 疼痛加重 and 疼痛减轻, with the same polarity."""
    if denies(one.mentions) != denies(other.mentions):
        return False
    poles = _poles(one.text), _poles(other.text)
    return any(not poles[here][0].isdisjoint(poles[1 - here][1]) for here in (0, 1))


@lru_cache(maxsize=4096)
def _poles(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return of which pairs of opposites a text has the first word, and of which the second, but not both."""
    found = [
        (pair, one.search(text) is not None, other.search(text) is not None)
        for pair, one, other in _opposites(has_chinese(text))
    ]
    return (
        frozenset(pair for pair, one, other in found if one and not other),
        frozenset(pair for pair, one, other in found if other and not one),
    )


@cache
def _opposites(chinese: bool) -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return the pairs of opposites of a language: the first pattern as a name, and both."""
    pairs = word_list("finding_terms")["opposites"]["zh" if chinese else "en"]
    whole = "{}" if chinese else r"\b(?:{})\b"
    return [
        (one, *(re.compile(whole.format(word), re.IGNORECASE) for word in (one, other))) for one, other in pairs.items()
    ]


def alike(word: str, other: str) -> bool:
    """Whether words are forms of one word or, in Chinese, one is part of the other."""
    if word == other:
        return True
    if word.isascii() and other.isascii():
        return len(word) >= ROOT and word[:ROOT] == other[:ROOT] and not any(map(str.isdigit, word + other))
    return not word.isascii() and min(len(word), len(other)) > 1 and (word in other or other in word)
