"""Extract age and sex from English or Chinese text."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from cases.case import Sex
from cases.text.numbers import chinese_number, spoken_numbers
from cases.vocabulary import patterns, word_list

_STATED, _PATTERNS = (patterns("cases", f"vocabularies/{name}") for name in ("demographics", "patterns"))
_AGES, _SEX_STATED = (
    [re.compile(each.replace("\n", "")) for each in word_list("demographics")[name]] for name in ("ages", "sexes")
)
_YEARS_PER = {"y": 1.0, "岁": 1.0, "m": 1 / 12, "月": 1 / 12, "w": 7 / 365.25, "周": 7 / 365.25, "d": 1 / 365.25,
              "天": 1 / 365.25, "日": 1 / 365.25, "h": 0.0}  # fmt: skip
_OLDEST = 130


@dataclass(frozen=True)
class Demographics:
    """The patient's age and sex as stated in a text; None if not stated."""

    age_years: float | None = None
    sex: Sex | None = None


def demographics(*texts: str, brief: bool = False) -> Demographics:
    """Return age and sex as first stated in the texts.

    Args:
        texts: searched in order.
        brief: whether the texts only describe the patient ("Female, 35"), so that every word counts.
    """
    folded = [re.sub(r"[‐-―−]", "-", unicodedata.normalize("NFKC", text)) for text in texts]
    return Demographics(
        next((age for text in folded for age in _ages(text, brief)), None),
        next((sex for text in folded if (sex := _sex(text, brief))), None),
    )


def age_phrases(text: str) -> list[str]:
    """Return the parts of a text that state an age."""
    return [match.group() for pattern in _AGES for match in pattern.finditer(text)]


def without_ages(text: str, age_years: float | None = None) -> str:
    """Remove present ages, in digits or words, from a text; a recorded one also as a bare number ("is 47", ", 47,")."""
    patterns = [*_AGES]
    if age_years is not None:
        bare = rf"(?P<n>{age_years:g})(?=\s*(?:[.,;)]|and\b|$))"
        patterns.append(re.compile(rf"(?:(?<=\bis )|(?<=[,;(])\s*){bare}"))
    for pattern in patterns:
        folded = "".join(each if len(each := unicodedata.normalize("NFKC", sign)) == 1 else sign for sign in text)
        for found in reversed(list(pattern.finditer(folded))):
            start_of_age = found.end("lead") if "lead" in found.groupdict() else found.start()
            before, after = folded[:start_of_age], folded[found.end() :]
            if _PATTERNS["earlier"].search(before):
                continue
            is_age = re.search(r"\b(?:is|was|am|turned|be)\s+$", before)
            predicate = is_age and not re.match(r"\s+(?!and\b|but\b|now\b)[a-z]", after)
            # In "患儿,男,3个月" the words that mark the age stay.
            start = found.start("n") if found[0][0] in "患男女年" else start_of_age
            text = text[:start] + ("of an age not told" if predicate else "") + text[found.end() :]
    return text


def beyond_age_and_sex(text: str) -> str:
    """Return what a short description of a person says besides age and sex; blank if nothing."""
    for stated in age_phrases(text):
        text = text.replace(stated, "")
    return _STATED["bare_age"].sub("", _STATED["who"].sub("", text), count=1)


def _ages(text: str, brief: bool) -> Iterator[float]:
    stated = sorted((match for pattern in _AGES for match in pattern.finditer(text)), key=re.Match.start)
    child = None if brief else _STATED["brought_child"].search(text)
    brought = [match for match in stated if child and child.start() < match.start() < child.end()]
    for match in brought or stated:
        if not (brief or brought) and _PATTERNS["not_the_patient_now"].search(text[: match.start()]):
            continue
        if (years := _years(match)) <= _OLDEST:
            yield years
    if brief and (span := _STATED["span_alone"].match(text)):
        yield round(int(span["n"]) * _YEARS_PER[span["unit"]], 3)
    if _PATTERNS["newborn"].search(text) and (brief or _PATTERNS["newborn"].search(text[:60])):
        yield 0.0
    alone = brief and (
        _STATED["age_alone"].fullmatch(_STATED["who"].sub("_", text))
        or _STATED["age_and_letter"].match(text)
        or _STATED["leading_number"].fullmatch(text)
        or _STATED["only_number"].fullmatch(text)
    )
    if alone and (years := _years(alone)) <= _OLDEST:
        yield years


def _years(match: re.Match[str]) -> float:
    groups = match.groupdict()
    number = _number(groups["n"]) + (0.5 if groups.get("half") else 0)
    years = number * _YEARS_PER[(groups["unit"] or "y")[0].lower()]
    return round(years + int(groups.get("months") or 0) / 12, 3)


def _number(stated: str) -> float:
    """Return a number in digits or in the words of an age: ``45``, ``forty-five``, ``四十五``."""
    if stated[0].isdigit():
        return float(stated)
    if stated.isascii():
        return 0.5 if stated.lower() == "half" else max(spoken_numbers(stated)[0][1][0])
    return chinese_number(stated) or 0.0


def _sex(text: str, brief: bool) -> Sex | None:
    for pattern in _SEX_STATED:
        if match := pattern.search(text):
            return _sex_of(match)
    if brief:
        return _sex_of(_PATTERNS["sex"].search(text) or _STATED["sex_letter"].search(text))
    if child := _STATED["brought_child"].search(text):
        return _sex_of(child) if child["female"] or child["male"] else None
    # In running text: the word beside the age ("a 45-year-old man", not "her male partner"), else the first pronoun.
    for pattern in _AGES:
        for match in pattern.finditer(text):
            if not _PATTERNS["not_the_patient_now"].search(text[: match.start()]):
                after = _PATTERNS["sex"].search(text, match.end(), match.end() + 40)
                before = _STATED["sex_before"].search(text[: match.start("n")])
                return _sex_of(before or after or _PATTERNS["pronoun"].search(text[match.end() :]))
    return None


def _sex_of(match: re.Match[str] | None) -> Sex | None:
    if match is None:
        return None
    return "female" if match["female"] else "male"
