"""Tests as doctors name them in free words, and the closed examination item that each is filed under."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cases.vocabulary import EXAMINATION_ITEMS, normalise, spelled, word_list

_EXAMINING = re.compile(r"(?:\b(?:examine|palpate|auscultate|inspect|listen)\b|检查|触诊|听诊)[^,.;，。；、]{0,40}")
_TOO_WIDE = ("general", "general condition", "general appearance")  # spellings of an item that name none in free words


@dataclass(frozen=True)
class NamedTest:
    """One name in free words.

    Attributes:
        spelling: as it stands there, folded.
        item: the closed examination item under which its result is filed.
        spellings: other names of the same test, and of its parts; empty if the name stands for the whole item.
    """

    spelling: str
    item: str
    spellings: tuple[str, ...] = ()


def named_tests(text: str) -> list[NamedTest]:
    """The examinations that a text calls by a name of their own, in its order; a name inside a longer one is that."""
    folded = normalise(text)
    found = [(*match.span(), name) for name in _names() for match in spelled(name.spelling).finditer(folded)]
    found += _regions_examined(folded, [(start, end) for start, end, _ in found])
    longest: dict[str, tuple[int, NamedTest]] = {}
    for start, end, name in sorted(found, key=lambda place: (place[0], -place[1])):
        inside = any(a <= start and end <= b and (a, b) != (start, end) for a, b, _ in found)
        if not inside and name.spelling not in longest:
            longest[name.spelling] = (start, name)
    return [name for _, name in longest.values()]


def occurs(spelling: str, text: str) -> bool:
    """Whether a name stands in a text as a word of its own; Chinese has no word boundaries, so anywhere."""
    folded = normalise(spelling)
    return folded != "" and spelled(folded).search(normalise(text)) is not None


def _regions_examined(folded: str, tests: list[tuple[int, int]]) -> list[tuple[int, int, NamedTest]]:
    """Regions in the clause of a verb of examining, unless that verb belongs to a test (an ultrasound of the belly)."""
    clauses = [
        clause
        for clause in _EXAMINING.finditer(folded)
        if not any(start < clause.end() and clause.start() <= end for start, end in tests)
    ]
    labels = re.finditer(r"[a-z ]{1,30}? exam(?:ination)?s?\b", folded)  # "a skin exam"
    return [
        (clause.start() + match.start(), clause.start() + match.end(), region)
        for clause in (*clauses, *labels)
        for region in _regions()
        for match in spelled(region.spelling).finditer(clause.group())
    ]


def labelled_test(text: str) -> list[NamedTest]:
    """The examination that a label stands for: the spelling of an item, or a region (`Chest`) alone."""
    folded = normalise(text)
    item = None if folded in _TOO_WIDE else EXAMINATION_ITEMS.canonical(text)
    return [NamedTest(folded, item)] if item else [name for name in _regions() if name.spelling == folded]


@cache
def _names() -> tuple[NamedTest, ...]:
    regions = {name.spelling for name in _regions()}
    names = {name.spelling: name for name in (*_items(), *_tests()) if name.spelling not in (*regions, *_TOO_WIDE)}
    return tuple(names.values())


@cache
def _regions() -> tuple[NamedTest, ...]:
    return tuple(
        NamedTest(normalise(word), EXAMINATION_ITEMS.require(region["item"]))
        for region in word_list("tests")["region"]
        for word in region["words"]
    )


def _items() -> Iterator[NamedTest]:
    for term in EXAMINATION_ITEMS.terms:
        for spelling in term.spellings:
            yield NamedTest(normalise(spelling), term.en)


def _tests() -> Iterator[NamedTest]:
    for test in word_list("tests")["test"]:
        names = [test["en"], test["zh"], *test.get("aliases", ())]
        spellings = tuple(normalise(spelling) for spelling in (*names, *test.get("parts", ())))
        for spelling in names:
            item = EXAMINATION_ITEMS.require(test["item"])
            yield NamedTest(normalise(spelling), item, () if test.get("whole") else spellings)
