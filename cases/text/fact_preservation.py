"""Check that a paraphrase preserves the facts; a rewriting that loses or adds one is rejected.

Compared are numbers with units, medical terms (lay words count as their terms), the negation of each term, and whether
anything is negated at all. Words outside the lists are not checked: the rule is a guard, not a proof of equivalence.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from cases.text.numbers import NUMBER_WORDS, chinese_number
from cases.text.statements import mentions, statements
from cases.text.words import rules_of
from cases.vocabulary import Language, patterns, word_list

_MARK = "qzxq"  # replaces a term while its sentence is analysed; not part of any word

_UNITS: dict[str, str] = word_list("medical_terms")["units"]
_WORDS_EN = {word: value for word, value in NUMBER_WORDS.items() if value > 1} | {"hundred": 100}
_NUMBER = re.compile(
    r"(?:(?P<twice>\btwice\b)|(?P<number>(?<![A-Za-z])\d+(?:[.,]\d+)*"
    rf"|\b(?a:{'|'.join(_WORDS_EN)}|half)\b|(?<!一)半|[二三四五六七八九两十百][一二三四五六七八九两十百]*"
    r"|一[十百][一二三四五六七八九十]*|一(?=个?[年月周天日岁次]|个?星期|小时))"
    rf"(?:[\s-]?(?:(?P<unit>{'|'.join(_UNITS.values())})(?![A-Za-z]))?)?)",
    re.IGNORECASE,
)
_PATTERNS = patterns("cases", "vocabularies/patterns")
_NEGATIONS_EN = re.compile(r"\bcannot\b", re.IGNORECASE)
_NOTHING_EN = re.compile(r"\b(?:nothing|nobody|nowhere)\b", re.IGNORECASE)
_NON_SMOKER_EN = re.compile(r"\b(?:is |was )?(?:an? )?non-?(smok|drink)(?:ers?|ing)\b", re.IGNORECASE)
_NOT_YET_ZH = re.compile("没(?!有)")


@dataclass(frozen=True)
class Changes:
    """Facts that a rewriting lost and added; falsy if it preserves all."""

    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lost or self.added)

    def __str__(self) -> str:
        return self.shown("en")

    def shown(self, language: Language) -> str:
        """Return what changed, with the facts in words of the language, as a model is told."""
        lost, added = (facts_in_words(facts, language) for facts in (self.lost, self.added))
        if lost and added:
            return f"lost: {lost}; added: {added}"
        return f"lost: {lost}" if lost else f"added: {added}" if added else ""


def fact_in_words(fact: str, language: Language) -> str:
    """Return the name of a fact in words of the language, such as 无咳 for "no cough"; English without such words."""
    if (words := word_list("medical_terms")["shown"].get(language)) is None:
        return fact
    if fact.startswith("no "):
        return str(words["no"]).format(fact_in_words(fact.removeprefix("no "), language))
    amount, space, unit = fact.rpartition(" ")
    if amount[:1].isdecimal():
        return f"{amount}{words.get(unit, space + unit)}"
    return str(words.get(fact) or _name_of(fact))


def facts_in_words(facts: Iterable[str], language: Language) -> str:
    """Return a list of facts in words of the language."""
    comma = word_list("medical_terms")["shown"].get(language, {}).get("comma", ", ")
    return str(comma).join(fact_in_words(fact, language) for fact in facts)


def _name_of(term: str) -> str:
    """Return the first Chinese word for a term of the list; any other term as it is."""
    names = word_list("medical_terms")["terms"].get(term)
    return re.split(r"[|(\[]", names[1])[0] if names else term


def changes(plain: str, said: str, language: Language) -> Changes:
    """Compare a paraphrase (``said``) with the plain text; return the facts it lost and added."""
    expected, found = _facts_in(plain, language), _facts_in(said, language)
    lost = {*(expected - found), *_reversed(plain, said, language)}
    return Changes(lost=tuple(sorted(lost)), added=tuple(sorted(found - expected)))


@lru_cache(maxsize=1 << 12)
def _facts_in(text: str, language: Language) -> frozenset[str]:
    text = _normal(text, language)
    found, denied = set(measures(text)), False
    for sentence in statements(text) or [text]:
        denied = denied or any(mention.negated for mention in mentions(sentence))
        found.update(f"no {name}" if negated else name for name, negated in _terms_of(sentence, language))
        found.update(ending[0].casefold() for ending in _endings(language).finditer(sentence))
    return frozenset(found | {"a denial"} if denied else found)


@lru_cache(maxsize=1 << 14)
def terms_in(text: str, language: Language) -> frozenset[tuple[str, bool]]:
    """Return the medical terms of a text, with lay words mapped to them, and whether each is negated."""
    text = _normal(text, language)
    return frozenset(found for sentence in statements(text) or [text] for found in _terms_of(sentence, language))


@lru_cache(maxsize=1 << 14)  # the same sentences occur in many texts: what is told, and what the record has
def _terms_of(sentence: str, language: Language) -> frozenset[tuple[str, bool]]:
    return frozenset(
        (name, mention.negated)
        for name, pattern in _terms(language)
        if pattern.search(sentence)
        for mention in mentions(pattern.sub(f" {_MARK} ", sentence))
        if mention.word.startswith(_MARK)
    )


def _reversed(plain: str, said: str, language: Language) -> Iterator[str]:
    """Yield words that one text affirms and the other negates."""
    one, other = (_words_in(text, language) for text in (plain, said))
    for word, negated in one - other:
        if (word, not negated) in other - one:
            yield f"no {word}" if negated else word


@lru_cache(maxsize=1 << 12)
def _words_in(text: str, language: Language) -> frozenset[tuple[str, bool]]:
    read = (mention for sentence in statements(_normal(text, language)) for mention in mentions(sentence))
    return frozenset((mention.word, mention.negated) for mention in read)


def measures(text: str) -> Iterator[str]:
    """Yield the numbers of a text, with their units: ``40 mg``."""
    for found in _NUMBER.finditer(_PATTERNS["not_numbers"].sub("", text)):
        if found["twice"]:
            yield "2 times"
            continue
        named = (name for name, words in _UNITS.items() if re.fullmatch(words, found["unit"] or "", re.IGNORECASE))
        yield " ".join([_value(found["number"].casefold()), *named])


def _value(number: str) -> str:
    if number == "half":
        return "0.5"
    if number in _WORDS_EN:
        return str(_WORDS_EN[number])
    if number[0].isdecimal():
        whole = re.sub(r",(?=\d{3}\b)", "", number)
        return f"{float(whole):.10g}" if re.fullmatch(r"\d+(?:\.\d+)?", whole) else whole
    return f"{chinese_number(number):g}"


def _normal(text: str, language: Language) -> str:
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    if language == "zh":
        return _NOT_YET_ZH.sub("没有", text)
    text = _NON_SMOKER_EN.sub(r"no \1ing", text)
    return _NOTHING_EN.sub("no thing", _NEGATIONS_EN.sub("can not", text))


@cache
def _terms(language: Language) -> tuple[tuple[str, re.Pattern[str]], ...]:
    column = 1 if language == "zh" else 0
    start = "" if language == "zh" else r"(?<![A-Za-z])"
    return tuple(
        (name, re.compile(f"{start}(?:{patterns[column]})", re.IGNORECASE))
        for name, patterns in word_list("medical_terms")["terms"].items()
    )


@cache
def _endings(language: Language) -> re.Pattern[str]:
    edge = "" if language == "zh" else r"\b"
    names = "|".join(word_list("medical_terms")[kind][rules_of(language)] for kind in ("drugs", "endings"))
    return re.compile(f"{edge}(?:{names}){edge}", re.IGNORECASE)
