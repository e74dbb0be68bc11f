"""Age and sex, where a text states them, in English or Chinese."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from cases.case import Sex
from cases.vocabulary import patterns

_YEARS_PER = {"y": 1.0, "岁": 1.0, "m": 1 / 12, "月": 1 / 12, "w": 7 / 365.25, "周": 7 / 365.25, "d": 1 / 365.25,
              "天": 1 / 365.25, "日": 1 / 365.25, "h": 0.0}  # fmt: skip
_OLDEST = 130

_AGES = [
    # "45-year-old", "8 years old", "3 months of age", "35 y/o", "5-year, 5-month-old"
    re.compile(
        r"(?<![\d.])(?P<n>\d{1,3}(?:\.\d+)?)[\s-]*(?P<unit>y(?:ea)?rs?|y|months?|weeks?|days?|hours?)"
        r"(?:(?:(?<=year)|(?<=years)|(?<=yr)|(?<=yrs))[\s,-]+(?:and[\s-]+)?(?P<months>\d{1,2})[\s-]*months?)?"
        r"(?:[\s-]*(?:old|of age)\b|[\s/.]*o\b)",
        re.IGNORECASE,
    ),
    # "aged 45", "age: 45 years"
    re.compile(
        r"\bage[d:\s]+(?:of\s+|is\s+)?(?P<n>\d{1,3}(?:\.\d+)?)\b(?:\s*(?P<unit>years?|months?|weeks?|days?))?",
        re.IGNORECASE,
    ),
    # "a woman of 45 years", "He is 27, a courier"; what leads to the age stays where ages are taken out
    re.compile(
        r"\b(?P<lead>(?:wo)?man|boy|girl|lady|gentleman|(?:fe)?male)\s+of\s+(?P<n>\d{1,3})\s*"
        r"(?P<unit>years?|months?|weeks?|days?)\b(?!['’]|\s*(?:experience|service|standing))",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?P<lead>(?:s?he|patient)\s+is\s+)(?P<n>\d{1,3})(?P<unit>)(?=\s*(?:[.,;)]|and\b|$))", re.IGNORECASE),
    # "45岁", "1岁6个月", "2岁半"; "20岁时" tells of an earlier time
    re.compile(r"(?<![\d.])(?P<n>\d{1,3}(?:\.\d+)?)\s*周?(?P<unit>岁)(?:(?P<half>半)|(?P<months>\d{1,2})个?月)?(?![时起开前后以左间])"),
    # "患儿，男，3个月，": a bare span of time is an age only right after the patient or the sex, else a duration
    re.compile(
        r"(?:患儿|[男女](?:性|婴|孩|童)?|年龄)\s*[,:、为]?\s*(?P<n>\d{1,3})\s*个?(?P<unit>[月周天日])(?=[,.。;；)\s]|$)"
    ),
    re.compile(r"(?<!\d)(?P<n>\d{1,3})\s*个?(?P<unit>[月周天日])(?:大|龄)"),
    # "男，34，右下颌骨 ...": what begins with the sex and a bare number
    re.compile(r"^\s*[男女]性?\s*[,，]\s*(?P<n>\d{1,3})(?P<unit>)(?=\s*[,，])"),
]  # fmt: skip
# The same without anything before it, of words that do nothing but describe the patient: "4天，女".
_SPAN_ALONE = re.compile(r"\s*(?P<n>\d{1,3})\s*个?(?P<unit>[月周天日])(?=[,;、\s]|$)")
_PATTERNS = patterns("cases", "vocabularies/patterns")
_IN_WORDS = re.compile(
    r"\b(?:half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|[a-z]+ty(?:-[a-z]+)?)"
    r"(?:\s+and\s+a\s+half)?[\s-](?:years?|months?|weeks?)[\s-]old\b",
    re.IGNORECASE,
)

# "Man, 48 years old", "She is a 52-year-old teacher": the sex before the age that goes with it.
_SEX_BEFORE = re.compile(
    r"\b(?:(?P<female>female|woman|girl|lady|she)|(?P<male>male|man|boy|gentleman|he))\b"
    r"[\s,]*(?:(?:is|was|of|aged?|an?)\s+)*$",
    re.IGNORECASE,
)
_SEX_STATED = [
    re.compile(r"\b(?:sex|gender)[\s:]+(?:is\s+)?(?:(?P<female>f(?:emale)?)|(?P<male>m(?:ale)?))\b", re.IGNORECASE),
    re.compile(r"性别[\s:为]*(?:(?P<female>女)|(?P<male>男))"),
    re.compile(r"(?:患者|患儿|病人|病员)[^。;；]{0,8}?(?:(?P<female>女)|(?P<male>男))(?![友儿子朋])"),
    re.compile(r"(?:^|[,.。;；:、(\]】\s岁])(?:(?P<female>女)|(?P<male>男))(?:[性婴孩童]|(?=[,.。;；:、)\s\d]|$))"),
]


@dataclass(frozen=True)
class Demographics:
    """What a text says of the patient's age and sex; None where it says nothing."""

    age_years: float | None = None
    sex: Sex | None = None


def demographics(*texts: str, brief: bool = False) -> Demographics:
    """Age and sex as first stated in the texts, in their order.

    Args:
        texts: where to look.
        brief: the texts do nothing but describe the patient ("Female, 35"), so that every word counts.
    """
    folded = [re.sub(r"[‐-―−]", "-", unicodedata.normalize("NFKC", text)) for text in texts]
    return Demographics(
        next((age for text in folded for age in _ages(text, brief)), None),
        next((sex for text in folded if (sex := _sex(text, brief))), None),
    )


def age_phrases(text: str) -> list[str]:
    """The parts of a text that state an age."""
    return [match.group() for pattern in _AGES for match in pattern.finditer(text)]


def without_ages(text: str, age_years: float | None = None) -> str:
    """The text without present ages, in figures or words; a recorded one also as a bare number ("is 47", ", 47,")."""
    patterns = [*_AGES, _IN_WORDS]
    if age_years is not None:
        bare = rf"(?P<n>{age_years:g})(?=\s*(?:[.,;)]|and\b|$))"
        patterns.append(re.compile(rf"(?:(?<=\bis )|(?<=[,;(])\s*){bare}"))
    for pattern in patterns:
        folded = "".join(each if len(each := unicodedata.normalize("NFKC", sign)) == 1 else sign for sign in text)
        for found in reversed(list(pattern.finditer(folded))):
            begins = found.end("lead") if "lead" in found.groupdict() else found.start()
            before, after = folded[:begins], folded[found.end() :]
            if _PATTERNS["earlier"].search(before):
                continue
            is_age = re.search(r"\b(?:is|was|am|turned|be)\s+$", before)
            predicate = is_age and not re.match(r"\s+(?!and\b|but\b|now\b)[a-z]", after)
            # "患儿,男,3个月" is known as an age by the words before it, which stay.
            start = found.start("n") if found[0][0] in "患男女年" else begins
            text = text[:start] + ("of an age not told" if predicate else "") + text[found.end() :]
    return text


def _ages(text: str, brief: bool) -> Iterator[float]:
    for pattern in _AGES:
        for match in pattern.finditer(text):
            if not brief and _PATTERNS["not_the_patient_now"].search(text[: match.start()]):
                continue
            groups = match.groupdict()
            years = float(groups["n"]) * _YEARS_PER[(groups["unit"] or "y")[0].lower()]
            years += 0.5 if groups.get("half") else int(groups.get("months") or 0) / 12
            if years <= _OLDEST:
                yield round(years, 3)
    if brief and (span := _SPAN_ALONE.match(text)):
        yield round(int(span["n"]) * _YEARS_PER[span["unit"]], 3)
    if _PATTERNS["newborn"].search(text) and (brief or _PATTERNS["newborn"].search(text[:60])):
        yield 0.0
    if brief and (bare := re.fullmatch(r"\D*(\d{1,3})\D*", text)) and int(bare[1]) <= _OLDEST:
        yield float(bare[1])


def _sex(text: str, brief: bool) -> Sex | None:
    for pattern in _SEX_STATED:
        if match := pattern.search(text):
            return _sex_of(match)
    if brief:
        return _sex_of(_PATTERNS["sex"].search(text))
    # In running text the words beside the age, "a 45-year-old man", not "her male partner"; else the first pronoun.
    for pattern in _AGES:
        for match in pattern.finditer(text):
            if not _PATTERNS["not_the_patient_now"].search(text[: match.start()]):
                beside = _PATTERNS["sex"].search(text, match.end(), match.end() + 40)
                before = _SEX_BEFORE.search(text[: match.start("n")])
                return _sex_of(before or beside or _PATTERNS["pronoun"].search(text[match.end() :]))
    return None


def _sex_of(match: re.Match[str] | None) -> Sex | None:
    if match is None:
        return None
    return "female" if match["female"] else "male"
