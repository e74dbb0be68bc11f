"""The content of a text: its clauses and their words under one name each, with polarity and side."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from cases.grouping import grouped
from cases.text.numbers import in_digits
from cases.text.statements import Mention, clause_texts, clauses, statements
from cases.text.words import stem
from cases.vocabulary import EXAMINATION_ITEMS, word_list
from scoring.metrics.amounts import in_full
from scoring.metrics.opposites import ROOT, Clause, alike

_GROUPS = ("plain", "findings", "places", "measured", "degrees")
_WITH = re.compile(r"\bwith\b|\b(?=without\b)|伴(?!随)", re.IGNORECASE)
_LABEL = re.compile(f"^(?:{'|'.join(re.escape(name) for term in EXAMINATION_ITEMS.terms for name in term.names)})[:：]")


class Window(tuple[Mention, ...]):
    """Words among which others are looked for, many times."""

    @cached_property
    def sides(self) -> frozenset[str]:
        """The sides that they name."""
        return frozenset(side for each in self for side in each.sides)

    @cached_property
    def by_root(self) -> Mapping[str, list[Mention]]:
        """The words by their first letters, which are those of all forms of an English word."""
        return grouped((each.word[:ROOT], each) for each in self)

    def near(self, word: str) -> list[Mention]:
        """Return the few words to which one may be alike: with the same beginning, or shared characters."""
        if word.isascii():
            return self.by_root.get(word[:ROOT], [])
        return [each for each in self if each.word in word or word in each.word]


def stated(text: str) -> list[Mention]:
    """Return the content words of a text in order, with synonyms mapped to one name, with polarity and side.

    Speakers and function words are no content, and numbers count the same in words and in digits.
    """
    return [each.plain for clause in clauses_of(text) for each in clause.mentions]


def clauses_of(text: str) -> list[Clause]:
    """Return the clauses of a text with their content words, synonyms mapped to one name, numbers in digits."""
    return [clause for sentence in statements(in_full(text)) for clause in _content(sentence)]


@lru_cache(maxsize=1 << 14)  # the sentences of a few hundred cases, each compared with many
def _content(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence; what is with or without something else is a clause of its own.

    It is not if a denial reaches across ("no mass with calcification").
    """
    sentence = in_digits(sentence)
    parts = _WITH.split(sentence)
    if _polarities(parts) != _polarities([sentence]):
        parts = [sentence]
    read: list[Clause] = []
    sides: frozenset[str] = frozenset()
    for part in parts:
        spoken, texts = read_clauses(part), clause_texts(part)
        for place, clause in enumerate(spoken):
            words = [each if each.sides else each._replace(sides=sides) for each in clause]
            sides = next((each.sides for each in reversed(words) if each.sides), sides)
            kept = [each for each in words if each.word not in _without_content()]
            read.append(Clause(texts[place] if len(texts) == len(spoken) else part, kept))
    return read


def _polarities(parts: Iterable[str]) -> list[tuple[str, bool]]:
    return [(each.word, each.negated) for part in parts for clause in read_clauses(part) for each in clause]


@cache
def _without_content() -> frozenset[str]:
    """Return the stems of words that say nothing; on first use, since the stemmer is loaded for it."""
    groups = word_list("function_words")
    return frozenset(map(stem, f"{groups['between_phrases']} {groups['spoken']}".split()))


class _Terms(NamedTuple):
    """The synonyms that count as one word."""

    any_language: re.Pattern[str]  # a group for each name
    english: re.Pattern[str]  # the same groups
    names: list[str]
    findings: frozenset[str]  # stems of the names that are findings


@cache
def known_terms() -> _Terms:
    """Return the synonyms of imaging reports and of medicine; on first use, since the patterns are large."""
    lists = word_list("finding_terms")
    terms = [(name, forms) for group in _GROUPS for name, forms in lists[group].items()]
    own = {name for name, _ in terms}
    medical = word_list("medical_terms")["terms"]
    terms += [(name, forms) for name, forms in medical.items() if len(forms) == 2 and name not in own]
    any_language = "|".join(f"((?<![a-z])(?:{english})[a-z]*|(?:{chinese}))" for _, (english, chinese) in terms)
    english_alone = "(?<![a-z])(?:" + "|".join(f"((?:{english})[a-z]*)" for _, (english, _) in terms) + ")"
    return _Terms(
        re.compile(any_language, re.IGNORECASE),
        re.compile(english_alone, re.IGNORECASE),
        [name for name, _ in terms],
        frozenset(map(stem, lists["findings"])),
    )


@lru_cache(maxsize=4096)
def read_clauses(sentence: str) -> list[list[Mention]]:
    """Return the words of each clause of a sentence, synonyms mapped to one name, without an examination's label."""
    sentence = _LABEL.sub("", sentence)
    terms = known_terms()
    pattern = terms.english if sentence.isascii() else terms.any_language  # takes a fifth of the time
    return clauses(pattern.sub(lambda found: f" {terms.names[(found.lastindex or 1) - 1]} ", sentence))


def agreeing_in(mention: Mention, window: Window) -> list[Mention]:
    """Return the mentions of the same thing on the same side in a window."""
    found = [each for each in window.near(mention.word) if alike(mention.word, each.word)]
    if not found or not mention.sides:
        return found
    anywhere = not window.sides or mention.sides <= window.sides
    return [each for each in found if (mention.sides <= each.sides if each.sides else anywhere)]
