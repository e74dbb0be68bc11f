"""Diagnoses compared as a teacher compares them: other names of a disease, less or more said of it, the other side.

For feedback to a person, and no published metric: `diagnosis_grade` is that, and knows fewer names.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal

from cases.strict import Strict
from cases.vocabulary import normalise, spelled, word_list
from scoring.metrics.diagnosis_grade import SAME, DiagnosisGrade, Level, grade_offline, name_agreement, name_words

Relation = Literal["same", "more_specific", "less_specific", "other_side", "related", "missed", "added"]
_RANK: tuple[Relation, ...] = ("same", "more_specific", "less_specific", "other_side", "related")
_NOT_ALL: Level = 4  # the most that a name can have that says less than the key, or more
_NEAR: Level = 2  # the least of one that is near

_SIDES = frozenset({"left", "right"})
_BRACKETS = re.compile(r"[(（]([^)）]*)[)）]")
# What stands before it names the disease, what comes after says where it is, and what came of it.
_HEAD_ENDS = re.compile(r"\b(?:of|in|with|due|after|by|from|secondary|to)\b|[,;:(（，；：]|伴")
_CLASSES = frozenset(word_list("synonyms")["classes"])


class ComparedName(Strict):
    """One diagnosis that was given, one of the key, or both."""

    given: str = ""
    reference: str = ""
    relation: Relation


def compare_names(given: Sequence[str], reference: Sequence[str]) -> list[ComparedName]:
    """The names of the key, each with what was given for it, then what was given beyond them."""
    found = sorted(
        (_RANK.index(how), there, here, how)
        for there, wanted in enumerate(reference)
        for here, name in enumerate(given)
        if (how := relation(name, wanted)) is not None
    )
    paired: dict[int, tuple[int, Relation]] = {}
    for _, there, here, how in found:
        if there not in paired and here not in {taken for taken, _ in paired.values()}:
            paired[there] = here, how
    named = [
        ComparedName(given=given[paired[there][0]], reference=wanted, relation=paired[there][1])
        if there in paired
        else ComparedName(reference=wanted, relation="missed")
        for there, wanted in enumerate(reference)
    ]
    taken = {here for here, _ in paired.values()}
    return [
        *named,
        *(ComparedName(given=name, relation="added") for here, name in enumerate(given) if here not in taken),
    ]


def grade_names(given: Sequence[str], reference: Sequence[str]) -> DiagnosisGrade | None:
    """`grade_offline` of what was given under the key's names; 4 at most if a name says less than the key, or more.

    The right disease on the wrong side, and a related one, have 2 at least.
    """
    compared = compare_names(given, reference)
    names = {one.given: one.reference for one in compared if one.relation in ("same", "more_specific", "less_specific")}
    grade = grade_offline([names.get(name, name) for name in given], reference)
    if grade is None:
        return None
    hows = {one.relation for one in compared}
    level: Level = grade.level
    if level > _NOT_ALL and hows & {"more_specific", "less_specific"}:
        level = _NOT_ALL
    elif level < _NEAR and hows & {"other_side", "related"}:
        level = _NEAR
    return grade.model_copy(update={"level": level})


def relation(given: str, reference: str) -> Relation | None:
    """How a name stands to one of the key; None if they have nothing to do with each other."""
    ways = [how for one in _forms(given) for other in _forms(reference) if (how := _relation(one, other))]
    return min(ways, key=_RANK.index, default=None)


def _relation(given: str, reference: str) -> Relation | None:
    if name_agreement(given, reference) == SAME:
        return "same"
    said, wanted = name_words(given), name_words(reference)
    sides = ({*said} & _SIDES, {*wanted} & _SIDES)
    bare, key = (set(words) - _SIDES for words in (said, wanted))
    how: Relation | None = None
    if bare == key:
        how = "same"
    elif bare < key and _head(reference) in bare and not bare <= _CLASSES:
        how = "less_specific"
    elif key < bare and _head(given) in key and not key <= _CLASSES:
        how = "more_specific"
    if how and all(sides) and sides[0] != sides[1]:
        return "other_side"
    if how == "same":
        return "less_specific" if sides[1] else "more_specific"
    return how or ("related" if name_agreement(given, reference) else None)


def _head(name: str) -> str:
    """The word that says what kind of thing a disease is."""
    said = next((part for part in _HEAD_ENDS.split(name) if part.strip()), name)
    return next((word for word in reversed(name_words(said)) if word not in _SIDES), "")


def _forms(name: str) -> list[str]:
    """A name under the first of its synonyms; of one with another name in brackets each, and both."""
    bracketed = [inside for inside in _BRACKETS.findall(name) if set(name_words(inside)) - _SIDES]
    forms = [name, *([_BRACKETS.sub(" ", name), *bracketed] if bracketed else [])]
    pattern, first = _synonyms()
    return [pattern.sub(lambda found: first[found[0]], normalise(form)) for form in forms if form.strip()]


@cache
def _synonyms() -> tuple[re.Pattern[str], dict[str, str]]:
    lists = [[normalise(name) for name in names] for names in word_list("synonyms")["names"]]
    first = {name: names[0] for names in lists for name in names}
    return re.compile("|".join(spelled(name).pattern for name in sorted(first, key=len, reverse=True))), first
