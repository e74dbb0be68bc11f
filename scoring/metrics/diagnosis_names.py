"""Compare diagnoses as a teacher does: synonyms, more or less specific names, and wrong sides."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal

from cases.strict import Strict
from cases.text.disease_names import synonyms
from cases.vocabulary import normalise, spelled, word_list
from scoring.metrics.diagnosis_grade import SAME, DiagnosisGrade, Level, grade_offline, name_agreement, name_words

Relation = Literal["same", "more_specific", "less_specific", "other_side", "related", "missed", "added"]
_RANK: tuple[Relation, ...] = ("same", "more_specific", "less_specific", "other_side", "related")
_MAX_INEXACT: Level = 4  # the highest level of a name that is less or more specific than the key
_MIN_RELATED: Level = 2  # the lowest level of a related name

_SIDES = frozenset({"left", "right"})
_BRACKETS = re.compile(r"[(（]([^)）]{0,300})[)）]")  # bounded: it is searched from each bracket
# The words before it name the disease; those after it say where it is or what caused it.
_HEAD_ENDS = re.compile(r"\b(?:of|in|with|due|after|by|from|secondary|to)\b|[,;:(（，；：]|伴")
_CLASSES = frozenset(word_list("synonyms")["classes"])
_NEARLY_ALL = 0.8  # share of the shorter of two Chinese names
# What says nothing of which Chinese disease it is.
_WITHOUT_KIND = re.compile("[^一-龥]|[左右双两]侧?|[急慢]性|[性症病]$|晚期|早期|陈旧性?")
_NUMBERS = re.compile(r"\d+|[ⅠⅡⅢⅣⅤ甲乙丙丁戊](?!状腺)|[A-Za-z]{2,}")
_OPPOSED = [{*pair} for pair in re.findall("..", "急慢高低亢减进退良恶增减快慢过缺内外上下前后大小多少干湿")]


class ComparedName(Strict):
    """A given diagnosis, one of the key, or a pair of both."""

    given: str = ""
    reference: str = ""
    relation: Relation


def compare_names(given: Sequence[str], reference: Sequence[str]) -> list[ComparedName]:
    """Return the key's names, each with the given name paired with it, then the other given names."""
    found = sorted(
        (_RANK.index(kind), j, i, kind)
        for j, wanted in enumerate(reference)
        for i, name in enumerate(given)
        if (kind := relation(name, wanted)) is not None
    )
    compared = [ComparedName(reference=wanted, relation="missed") for wanted in reference]
    left = dict(enumerate(given))
    for _, j, i, kind in found:
        if compared[j].relation == "missed" and i in left:
            compared[j] = ComparedName(given=left.pop(i), reference=reference[j], relation=kind)
    return [*compared, *(ComparedName(given=name, relation="added") for name in left.values())]


def grade_names(given: Sequence[str], reference: Sequence[str]) -> DiagnosisGrade | None:
    """Grade like `grade_offline` under the key's names; at most 4 if a name is less or more specific than the key.

    The right disease on the wrong side, or a related one, gets at least 2.
    """
    compared = compare_names(given, reference)
    names = {one.given: one.reference for one in compared if one.relation in ("same", "more_specific", "less_specific")}
    grade = grade_offline([names.get(name, name) for name in given], reference)
    if grade is None:
        return None
    relations = {one.relation for one in compared}
    level: Level = grade.level
    if level > _MAX_INEXACT and relations & {"more_specific", "less_specific"}:
        level = _MAX_INEXACT
    elif level < _MIN_RELATED and relations & {"other_side", "related"}:
        level = _MIN_RELATED
    return grade.model_copy(update={"level": level})


def relation(given: str, reference: str) -> Relation | None:
    """Return the relation of a name to one of the key; None if they are unrelated."""
    relations = [kind for one in _forms(given) for other in _forms(reference) if (kind := _relation(one, other))]
    of_one_kind: Relation | None = "related" if _is_of_one_kind(given, reference) else None
    return min(relations, key=_RANK.index, default=of_one_kind)


def _relation(given: str, reference: str) -> Relation | None:
    if name_agreement(given, reference) == SAME:
        return "same"
    words_given, wanted = name_words(given), name_words(reference)
    sides = ({*words_given} & _SIDES, {*wanted} & _SIDES)
    bare, key = (set(words) - _SIDES for words in (words_given, wanted))
    kind: Relation | None = None
    if bare == key:
        kind = "same"
    elif bare < key and _head(reference) in bare and not bare <= _CLASSES:
        kind = "less_specific"
    elif key < bare and _head(given) in key and not key <= _CLASSES:
        kind = "more_specific"
    if kind and all(sides) and sides[0] != sides[1]:
        return "other_side"
    if kind == "same":
        return "less_specific" if sides[1] else "more_specific"
    return kind or ("related" if name_agreement(given, reference) else None)


def _is_of_one_kind(given: str, reference: str) -> bool:
    """Whether one Chinese name holds nearly all of the other, in order and with its last character: 肺癌 in 左肺腺癌.

    Numbers and Latin names must be equal, and no character may be the opposite of one of the other name (低钾, 高钾).
    """
    one, other = (_WITHOUT_KIND.sub("", normalise(name)) for name in (given, reference))
    if not (one and other) or one[-1] != other[-1] or _NUMBERS.findall(given) != _NUMBERS.findall(reference):
        return False
    only, others = set(given) - set(reference), set(reference) - set(given)
    if any(only & pair and others & pair for pair in _OPPOSED):
        return False
    from rapidfuzz.distance import LCSseq

    shorter = min(len(one), len(other))
    return shorter > 1 and LCSseq.similarity(one, other) >= _NEARLY_ALL * shorter


def _head(name: str) -> str:
    """Return the word that says what kind of disease it is."""
    head = next((part for part in _HEAD_ENDS.split(name) if part.strip()), name)
    return next((word for word in reversed(name_words(head)) if word not in _SIDES), "")


@lru_cache(maxsize=1 << 14)  # each name is compared with many
def _forms(name: str) -> tuple[str, ...]:
    """Return the forms of a name, with synonyms mapped to the first; a name with another in brackets has several."""
    bracketed = [inside for inside in _BRACKETS.findall(name) if set(name_words(inside)) - _SIDES]
    forms = [name, *([_BRACKETS.sub(" ", name), *bracketed] if bracketed else [])]
    pattern, first = _synonyms()
    return tuple(pattern.sub(lambda found: first[found[0]], normalise(form)) for form in forms if form.strip())


@cache
def _synonyms() -> tuple[re.Pattern[str], dict[str, str]]:
    first = synonyms()
    return re.compile("|".join(spelled(name).pattern for name in sorted(first, key=len, reverse=True))), first
