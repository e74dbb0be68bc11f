"""Find the closed examination item of a section or test of a foreign record; the rules are data."""

import re
from functools import cache

from cases.text.prose import label
from cases.vocabulary import EXAMINATION_ITEMS, word_list

GENERAL = "General Examination"
_SHOWS = re.compile(r"(?<!\s)\s+(?:shows?|showed|reveals?|revealed|demonstrate[sd]?|is|are|was|were)\b")


def physical_item(name: str) -> str | None:
    """Return the physical item of a section of the examination; None if no rule matches."""
    return _first("physical", name)


def test_item(name: str) -> str | None:
    """Return the item of a test (a physical one if no auxiliary item fits); None if no rule matches."""
    return EXAMINATION_ITEMS.canonical(label(name)) or _first("test", name)


def first_test_in(text: str) -> str | None:
    """Return the item of the first test that a text names; None if it names none."""
    folded = text.lower()
    found = ((match.start(), item) for item, pattern in _rules("test") if (match := pattern.search(folded)))
    return min(found, default=(0, None), key=lambda place: place[0])[1]


def told_by(text: str) -> str | None:
    """Return the item of a finding: the subject of "showed" ("Laboratory studies showed"), else a named test."""
    return group_item(_SHOWS.split(text, maxsplit=1)[0]) or first_test_in(text)


def is_mixed(name: str) -> bool:
    """Whether a physical section holds findings of several systems."""
    return _first("mixed", name) is not None


def is_group(name: str) -> bool:
    """Whether a label covers several tests (``Imaging``) rather than one."""
    return _first("group", name) is not None


def group_item(name: str) -> str | None:
    """Return the item for tests of a group that have no rule of their own, if it has one."""
    return _first("group", name) or None


def is_ignored(name: str) -> bool:
    """Whether a label does not introduce findings."""
    return _first("ignored", name) is not None


@cache
def _rules(kind: str) -> list[tuple[str, re.Pattern[str]]]:
    words = [(rule.get("item", ""), "|".join(map(_word, rule["patterns"]))) for rule in word_list("lexicon")[kind]]
    return [(item, re.compile(rf"(?<!\w)(?:{pattern})")) for item, pattern in words]


def _word(pattern: str) -> str:
    # "ct" must not match "actual" or "ctenophore", but "thyroid" may match "thyroids", and "echo\w*" is as written.
    return rf"{pattern}s?(?!\w)" if len(pattern) <= 4 and pattern.isalnum() else pattern


def _first(kind: str, name: str) -> str | None:
    folded = label(name).lower()
    return next((item for item, pattern in _rules(kind) if pattern.search(folded)), None)
