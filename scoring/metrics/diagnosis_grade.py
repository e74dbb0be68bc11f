"""The five-level grade of a diagnosis, and a rule-based grader of names."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cases.strict import NotBoolean, Strict
from cases.text.statements import mentions
from cases.text.words import HAN
from cases.vocabulary import longest_spelled, normalise, patterns, word_list


def _number(given: Any) -> Any:
    """Convert a number that a model wrote as a string."""
    return int(given) if isinstance(given, str) and given.strip().isdecimal() else given


Level = Annotated[Literal[1, 2, 3, 4, 5], BeforeValidator(_number), NotBoolean]

SPELLINGS_FROM = 90.0  # RapidFuzz ratio from which two words of one beginning count as spellings of one word
_BEGINNING = 4

SAME, RELATED, DIFFERENT = 1.0, 0.5, 0.0


# anaemia, haemorrhage, oedema, oesophagus
_BRITISH = re.compile(r"(?<=[a-z])[ao]e(?=[a-z])|\b[ao]e(?=[dst])")
_ABBREVIATION_BEHIND = re.compile(
    r"(?<!\s)\s*[(（](?:[A-Za-z0-9-]{0,3}[A-Z][A-Za-z0-9-]{0,2}[A-Z][A-Za-z0-9-]{0,3}"  # (COPD)
    r"|(?:ICD-10(?:-CM)?[:：]? ?)?[A-Z]\d[0-9A-Z]\.[0-9A-Z]{1,4})[)）]"  # (J44.9), but not (T12): that is a vertebra
)
# What joins the words of a Chinese name and means nothing by itself: 缺铁性贫血 is 缺铁引起的贫血.
_JOINTS = re.compile(rf"(?<=[{HAN}])(?:性(?!别|病|功能)|症(?!状|候)|(?:引起|所致|导致)的?)")
_GRADES = str.maketrans("一二三四", "1234")  # 二型 is 2型
_GRADED = re.compile("[一二三四](?=[型级期度])")
SIDES = frozenset({"left", "right"})
_PATTERNS = patterns("cases", "vocabularies/patterns")
_OTHER_THAN = re.compile("(?m)^非\n")  # 非小细胞肺癌 is another disease than 小细胞肺癌, and no kind of it
_STAGE = re.compile("(?<=加重|发作)期")  # 急性加重期 is 急性加重
# Stems that do not distinguish diseases.
_QUALIFIERS = frozenset(
    ("suspect", "probabl", "possibl", "like", "unspecifi", "no", "diseas", "due", "type", "疑似", "可疑")
)

ALIASES: dict[str, str] = word_list("diagnoses")["same_as"]  # other names of common diagnoses


_ALIAS = longest_spelled({*ALIASES, *ALIASES.values()})  # a canonical name is not replaced


class DiagnosisGrade(Strict):
    """How near the diagnoses given are to those of the answer key: a judge's answer."""

    reason: str = Field(description="What agrees and what does not; written before the level.")
    level: Level = Field(description="1 completely wrong, 2 mostly wrong, 3 partly right, 4 mostly right, 5 right.")

    @property
    def score(self) -> float:
        """The grade on [0, 1]: ``(level - 1) / 4``; higher is better.

        Source: MedChain, appendix A.2 (task 4), which gives the levels but not the mapping.
        """
        return (self.level - 1) / 4


def grade_offline(predicted: Sequence[str], reference: Sequence[str]) -> DiagnosisGrade | None:
    """Grade a list of diagnoses against the reference list by rules; the principal diagnosis is first in both.

    None (unscored) if the reference is empty; level 1 if only the prediction is. Every predicted name is paired with at
    most one reference name: the same diagnosis counts 1, a related one a half (:func:`name_agreement`). With F1 = 2 x
    sum / (predicted + reference), the first matching line gives the level:

    | level | condition |
    |---|---|
    | 5 | every reference diagnosis is named, nothing else, and the principal one is first |
    | 4 | the principal diagnosis is named, and F1 is 2/3 or more (one extra to one reference) |
    | 3 | a reference diagnosis is named, and F1 is 0.4 or more |
    | 2 | a reference diagnosis is named, or a related one |
    | 1 | nothing agrees |

    MedChain has an LLM grade the text. This grader knows spellings and a few abbreviations, but no medicine: synonyms
    outside :data:`ALIASES`, and names in another language than the reference's, count as different.
    """
    wanted, given = _distinct(reference), _distinct(predicted)
    if not wanted:
        return None
    pairs = _pair(given, wanted)
    same = sum(strength == SAME for _, _, strength in pairs)
    related = len(pairs) - same
    f1 = 2 * sum(strength for _, _, strength in pairs) / (len(given) + len(wanted))
    principal = any(j == 0 and strength == SAME for _, j, strength in pairs)
    first = (0, 0, SAME) in pairs
    level: Level
    if same == len(wanted) == len(given) and first:
        level = 5
    elif principal and f1 >= 2 / 3:
        level = 4
    elif same and f1 >= 0.4:
        level = 3
    elif pairs:
        level = 2
    else:
        level = 1
    reason = (
        f"{same} of {len(wanted)} reference diagnoses named, {related} related, "
        f"{len(given) - len(pairs)} not in the reference; the principal one {'is' if principal else 'is not'} named."
    )
    return DiagnosisGrade(level=level, reason=reason)


def name_agreement(one: str, other: str) -> float:
    """Return how far two names mean one diagnosis: 1 the same, 0.5 related, 0 different; symmetric.

    Same: their words pair off one to one, in any order, after folding case, width, British spelling, aliases,
    possessives, empty qualifiers ("suspected", "disease") and Chinese joints (性, 症). Two words pair if they have the
    same stem, or the same first four letters and a RapidFuzz ratio of at least 90 (so *hyperthyroidism* and
    *hypothyroidism* don't). Numbers, grades, sides and negations must be equal. Related: all words of
    the shorter name are in the longer one, which is more specific or another disease: "diabetes" and "diabetes
    insipidus" are related, never the same.
    """
    return _agreement(name_words(one), name_words(other))


def is_denied(name: str) -> bool:
    """Whether a name says that the patient does not have the disease: it is excluded, unlikely, or a relative's.

    A hedge ("cannot be excluded", 待排除) is no denial, nor is what a disease lacks by its name (无菌性脑膜炎).
    """
    return _PATTERNS["absent"].search(_unhedged(name)) is not None


def _agreement(one: Sequence[str], other: Sequence[str]) -> float:
    shared = _shared(one, other)
    if shared and shared == len(one) == len(other):
        return SAME
    return RELATED if shared and shared == min(len(one), len(other)) else DIFFERENT


def _pair(given: list[tuple[str, ...]], wanted: list[tuple[str, ...]]) -> list[tuple[int, int, float]]:
    """Return the best pairs of (predicted, reference, strength), with each name at most once.

    They have as many same names as possible, preferring the principal ones, then as many related ones. As this is an
    assignment rather than a greedy choice, the order of secondary diagnoses does not matter.
    """
    strengths = [[_agreement(name, reference) for reference in wanted] for name in given]
    agree = [(i, j, value) for i, row in enumerate(strengths) for j, value in enumerate(row) if value]
    if len({i for i, _, _ in agree}) == len({j for _, j, _ in agree}) == len(agree):
        return agree  # no choice needed, and importing SciPy takes half a second
    from scipy.optimize import linear_sum_assignment

    most = len(given) + len(wanted)
    worth = [
        [
            (strength == SAME) * (4 * most + 2 * (j == 0) + (i == j == 0)) + (strength == RELATED)
            for j, strength in enumerate(row)
        ]
        for i, row in enumerate(strengths)
    ]
    rows, columns = linear_sum_assignment(worth, maximize=True)
    pairs = ((int(i), int(j)) for i, j in zip(rows, columns, strict=True))
    return [(i, j, strengths[i][j]) for i, j in pairs if strengths[i][j]]


def _distinct(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names as sorted words, without blanks and repetitions."""
    return list(dict.fromkeys(tuple(sorted(name_words(name))) for name in names if normalise(name)))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of words that pair off, equal ones before similar ones."""
    rest, unpaired = list(other), []
    for word in one:
        if word in rest:
            rest.remove(word)
        else:
            unpaired.append(word)
    for word in unpaired:
        similar = next((candidate for candidate in rest if _one_spelling(word, candidate)), None)
        if similar is not None:
            rest.remove(similar)
    return len(other) - len(rest)


def _one_spelling(one: str, other: str) -> bool:
    from rapidfuzz import fuzz

    if one[:_BEGINNING] != other[:_BEGINNING] or not (one.isalpha() and one.isascii()):
        return False
    return fuzz.ratio(one, other) >= SPELLINGS_FROM


def _unhedged(name: str) -> str:
    return _PATTERNS["hedge"].sub("", normalise(_ABBREVIATION_BEHIND.sub("", name).replace("’", "'")))


@lru_cache(maxsize=1 << 14)  # each name is compared with many
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name: stems, with sides and negations as words of their own."""
    text = _unhedged(_STAGE.sub("", _GRADED.sub(lambda found: found[0].translate(_GRADES), name)))
    absent = _PATTERNS["absent"].search(text) is not None
    text = _ALIAS.sub(lambda found: ALIASES.get(found[0], found[0]), _BRITISH.sub("e", text))
    text = _JOINTS.sub("", text)  # also of a name's other name
    read = mentions(text)
    words = [
        f"not {mention.word}" if absent or mention.negated else mention.word
        for mention in read
        if mention.word not in _QUALIFIERS
    ]
    words = _OTHER_THAN.sub("非", "\n".join(words)).splitlines()
    sides = sorted({side for mention in read for side in mention.sides})
    return tuple(dict.fromkeys([*words, *sides])) or (normalise(name),)
