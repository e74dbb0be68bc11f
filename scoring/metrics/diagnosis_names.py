"""Compare diagnoses as a teacher does: synonyms, more or less specific names, and wrong sides."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from cases.strict import Strict
from cases.text.disease_names import synonyms
from cases.text.statements import mentions, statements
from cases.vocabulary import longest_spelled, normalise, word_list
from scoring.metrics.diagnosis_grade import (
    SAME,
    SIDES,
    DiagnosisGrade,
    Level,
    grade_offline,
    is_denied,
    name_agreement,
    name_words,
)
from scoring.metrics.opposites import Clause, is_contrary

Relation = Literal["same", "more_specific", "less_specific", "other_side", "related", "missed", "added"]
_RANK: tuple[Relation, ...] = ("same", "more_specific", "less_specific", "other_side", "related")
_MAX_INEXACT: Level = 4  # the highest level of a name that is less or more specific than the key
_MIN_RELATED: Level = 2  # the lowest level of a related name

_BRACKETS = re.compile(r"[(（]([^)）]{0,300})[)）]")  # bounded: it is searched from each bracket
_STOP = re.compile("[;；。\n]")  # which parts no names in brackets: (grade 2; high risk)
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

    The right disease on the wrong side, or a related one, gets at least 2. Names written as one ("1. Asthma; 2. Gout")
    count one by one.
    """
    given, reference = _one_by_one(given), _one_by_one(reference)
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


def _one_by_one(names: Sequence[str]) -> list[str]:
    whole = [_BRACKETS.sub(lambda found: _STOP.sub(",", found[0]), name) for name in names]
    return [part for name in whole for part in statements(name) or [name]]


def relation(given: str, reference: str) -> Relation | None:
    """Return the relation of a name to one of the key; None if they are unrelated, or only one is denied."""
    if is_denied(given) != is_denied(reference):
        return None
    one, other = _forms(given), _forms(reference)
    pairs = [(one.whole, other.whole)]
    if not is_denied(given):
        pairs += [(name, other.bare) for name in one.inside] + [(one.bare, name) for name in other.inside]
        if not (one.inside and other.inside):
            pairs.append((one.bare, other.bare))
    relations = [kind for name, wanted in pairs if (kind := _relation(name, wanted))]
    if _is_same_but_for_brackets(one, other):
        relations.append("less_specific")
    of_one_kind: Relation | None = "related" if _is_of_one_kind(given, reference) else None
    return min(relations, key=_RANK.index, default=of_one_kind)


def _relation(given: str, reference: str) -> Relation | None:
    if name_agreement(given, reference) == SAME:
        return "same"
    words_given, wanted = name_words(given), name_words(reference)
    sides = ({*words_given} & SIDES, {*wanted} & SIDES)
    bare, key = (set(words) - SIDES for words in (words_given, wanted))
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
    return next((word for word in reversed(name_words(head)) if word not in SIDES), "")


class _Forms(NamedTuple):
    """A name as it is, without its brackets, and what they hold: another name, or a stage, a cause, a type."""

    whole: str
    bare: str
    inside: tuple[str, ...]


def _is_same_but_for_brackets(one: _Forms, other: _Forms) -> bool:
    """Whether both have brackets, the rest of both is the same, and no number, side or opposite tells them apart."""
    if not (one.inside and other.inside) or name_agreement(one.bare, other.bare) != SAME:
        return False
    held = [Clause(text, mentions(text)) for text in map(" ".join, (one.inside, other.inside))]
    return not (held[0].numbers ^ held[1].numbers or held[0].sides ^ held[1].sides or is_contrary(*held))


@lru_cache(maxsize=1 << 14)  # each name is compared with many
def _forms(name: str) -> _Forms:
    """Return the forms of a name, with synonyms mapped to the first."""
    bracketed = [inside for inside in _BRACKETS.findall(name) if set(name_words(inside)) - SIDES]
    bare = _BRACKETS.sub(" ", name) if bracketed else name
    pattern, first = _synonyms()
    whole, bare, *inside = (
        pattern.sub(lambda found: first[found[0]], normalise(form)) for form in (name, bare, *bracketed)
    )
    return _Forms(whole, bare or whole, tuple(inside))


@cache
def _synonyms() -> tuple[re.Pattern[str], dict[str, str]]:
    first = synonyms()
    return longest_spelled(first), first
