"""Whether a clause states the opposite of another one: a word for the opposite, or another number of the same unit."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from cases.text.statements import Mention, statements
from cases.text.words import has_chinese
from cases.vocabulary import compiled, word_list

SAME_THING = 0.3  # share of two clauses' words in both, from which they speak of one thing
ROOT = 5  # letters shared by forms of one English word
_NUMBER = re.compile(r"[0-9.]+")
_EXAMPLES = re.compile(r"(?:\b(?:such as|for example|e\.g\.)|如)[^,，;；。)）]*", re.IGNORECASE)


@dataclass(frozen=True)
class Clause:
    """A clause as it is written, and its content words; what comparisons need of it is computed once."""

    text: str
    mentions: list[Mention]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its content words, numbers among them."""
        return frozenset(each.word for each in self.mentions)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Those that must match exactly."""
        return frozenset(each.word for each in self.mentions if each.exact)

    @cached_property
    def sides(self) -> frozenset[str]:
        """The sides that it names."""
        return frozenset(side for each in self.mentions for side in each.sides)

    @cached_property
    def denied(self) -> bool:
        """Whether any of its words is denied."""
        return any(each.negated for each in self.mentions)

    @cached_property
    def measured(self) -> frozenset[tuple[str, str]]:
        """Its numbers, each with its unit: its own (8mm), or else the next word."""
        measured, next_word = set(), ""
        for each in reversed(self.mentions):
            if each.exact:
                measured.add((each.word, _NUMBER.sub("", each.word) or next_word))
            else:
                next_word = each.word
        return frozenset(measured)


def has_opposite(clause: Clause, others: Sequence[Clause]) -> bool:
    """Whether the other clauses that share most with a clause, and much of it, all have a word for the opposite.

    Another drug is the opposite too, and another number of the same unit, which none of all others has.
    """
    shared = [_shared(clause.words, other.words) for other in others]
    most = max(shared, default=0.0)
    nearest = [other for other, share in zip(others, shared, strict=True) if share == most >= SAME_THING]
    if not nearest:
        return False
    numbers = clause.measured
    known = {number for other in others for number in other.numbers} if numbers else set()
    unknown = {(number, unit) for number, unit in numbers if number not in known}
    return all(
        is_contrary(clause, other)
        or names_another_drug(clause.text, other.text)
        or _units(unknown) & _units(other.measured - numbers)
        for other in nearest
    )


def _units(measured: Set[tuple[str, str]]) -> set[str]:
    return {unit for _, unit in measured}


def _shared(one: Set[str], other: Set[str]) -> float:
    """Return how much of the longer of two clauses, as sets of words, is in the other."""
    return len(one & other) / max(len(one), len(other), 1)


def is_contrary(one: Clause, other: Clause) -> bool:
    """Whether one clause has a word and the other its opposite, as in 疼痛加重 and 疼痛减轻, with the same polarity."""
    if one.denied != other.denied:
        return False
    poles = _poles(one.text), _poles(other.text)
    return any(not poles[here][0].isdisjoint(poles[1 - here][1]) for here in (0, 1))


def without_other_relatives(report: str, truth: str) -> str:
    """Return a report without what it says that a relative has whom the truth does not name.

    Nothing is left out if the truth speaks of the family.
    """
    theirs = _of_relatives_unnamed(report, truth)
    return theirs.sub("", "\n".join(statements(report))) if theirs else report


def is_of_other_relatives(claim: str, report: str) -> bool:
    """Whether a claim says what a relative has whom a report does not name: it is not stated of the patient."""
    theirs = _of_relatives_unnamed(claim, report)
    return theirs is not None and theirs.search(claim) is not None


def _of_relatives_unnamed(text: str, other: str) -> re.Pattern[str] | None:
    """Return a pattern of what is said of relatives whom another text does not name; none if it speaks of the family.

    Nor is there one if the text says nothing that relatives have.
    """
    lists = word_list("finding_terms")
    if not _theirs(*lists["relatives"].values()).search(text) or _names(lists["theirs"]["all"], other):
        return None
    unnamed = [name for name in lists["relatives"].values() if not _names(name, other)]
    return _theirs(*unnamed) if unnamed else None


def _names(words: str, text: str) -> bool:
    return re.search(f"(?<![a-z])(?:{words})(?![a-z])", text, re.IGNORECASE) is not None


@cache
def _theirs(*relatives: str) -> re.Pattern[str]:
    """Return a pattern of what a text says that relatives have, to where it goes on with the patient."""
    theirs = word_list("finding_terms")["theirs"]
    subject = f"(?:{theirs['before_en']}|{theirs['before_zh']})(?:{'|'.join(relatives)})"
    has = f"(?:{theirs['en']}|{theirs['zh']})"
    return re.compile(f"{subject}{has}.*?(?:{theirs['until']})", re.IGNORECASE | re.MULTILINE)


def names_another_organ(one: str, other: str) -> bool:
    """Whether both texts name organs, and none of one is named in the other."""
    named = _organs(one), _organs(other)
    return all(named) and named[0].isdisjoint(named[1])


def names_another_drug(one: str, other: str) -> bool:
    """Whether both texts name drugs, and none of one is named in the other; "such as amoxicillin" names none.

    Words may stand before a Chinese name.
    """
    named = _drugs(one), _drugs(other)
    return all(named) and not any(a.endswith(b) or b.endswith(a) for a in named[0] for b in named[1])


@lru_cache(maxsize=4096)
def _drugs(text: str) -> frozenset[str]:
    drugs, text = word_list("medical_terms")["drugs"], _EXAMPLES.sub("", text)
    if has_chinese(text):
        return frozenset(compiled(drugs["zh"]).findall(text))
    return frozenset(each[:4].casefold() for each in compiled(rf"(?i)\b{drugs['en']}\b").findall(text))


@lru_cache(maxsize=4096)
def _organs(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _organ_names(has_chinese(text)) if pattern.search(text))


@cache
def _organ_names(chinese: bool) -> list[tuple[str, re.Pattern[str]]]:
    organs = word_list("finding_terms")["organs"]
    return [
        (name, re.compile(han if chinese else rf"\b(?:{english})\b", re.IGNORECASE))
        for name, (english, han) in organs.items()
    ]


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
