"""Extract age and sex from English or Chinese text."""

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from cases.case import Sex
from cases.text.numbers import NUMBER_WORDS, chinese_number
from cases.vocabulary import patterns, word_list

_STATED, _PATTERNS = (patterns("cases", f"vocabularies/{name}") for name in ("demographics", "patterns"))
# Every run of number words, so that "two hundred and five" is not read as five; those in _IN_WORDS are ages.
_WORD = rf"(?:{'|'.join((*NUMBER_WORDS, 'hundred', 'thousand', 'half'))})"
_WORDS = rf"\b{_WORD}(?:[\s-]+(?:(?:and|or|to)[\s-]+)?(?:an?[\s-]+)?{_WORD}){{0,8}}\b"
_ONES = {word: n for word, n in NUMBER_WORDS.items() if 0 < n < 10}
_IN_WORDS: dict[str, float] = {word: n for word, n in NUMBER_WORDS.items() if n}
_IN_WORDS |= {f"{ten} {one}": m + n for ten, m in NUMBER_WORDS.items() if m >= 20 for one, n in _ONES.items()}
_IN_WORDS |= {f"one hundred {and_}{word}": 100 + n for and_ in ("", "and ") for word, n in _IN_WORDS.items()}
_IN_WORDS |= {f"{word} and {a} half": n + 0.5 for a in ("a", "one") for word, n in _IN_WORDS.items()}
_IN_WORDS |= {"half": 0.5, "hundred": 100, "one hundred": 100}
_YEARS_PER = {"y": 1.0, "岁": 1.0, "m": 1 / 12, "月": 1 / 12, "w": 7 / 365.25, "周": 7 / 365.25, "d": 1 / 365.25,
              "天": 1 / 365.25, "日": 1 / 365.25, "h": 0.0}  # fmt: skip
_OLDEST = 130
_NEAR = 200  # characters
_OLDEST_CHILD = 17


@dataclass(frozen=True)
class Demographics:
    """The patient's age and sex as stated in a text, by their names in a patient's record; None if not stated."""

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


@cache
def _patterns_of(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a list; compiled on first use, as they are large."""
    sources = word_list("demographics")[name]
    return tuple(re.compile(each.replace("\n", "").replace("{words}", _WORDS)) for each in sources)


def _ages_stated() -> tuple[re.Pattern[str], ...]:
    return (*_patterns_of("plain_ages"), *_patterns_of("other_ages"))


def age_phrases(text: str) -> list[str]:
    """Return the parts of a text that state an age."""
    return [match.group() for pattern in _ages_stated() for match in _found(pattern, text)]


def without_ages(text: str, age_years: float | None = None) -> str:
    """Remove present ages, in digits or words, from a text; a recorded one also as a bare number ("is 47", ", 47,")."""
    patterns = [*_ages_stated()]
    if age_years is not None:
        bare = rf"(?P<n>{age_years:g})(?=\s*(?:[.,;)]|and\b|$))"
        patterns.append(re.compile(rf"(?:(?<=\bis )|(?<=[,;(])\s*){bare}"))
    for pattern in patterns:
        folded = _folded(text)
        for found in reversed(_found(pattern, folded)):
            start_of_age = found.end("lead") if "lead" in found.groupdict() else found.start()
            before, after = _before(folded, start_of_age), folded[found.end() :]
            if _PATTERNS["earlier"].search(before):
                continue
            is_age = re.search(r"\b(?:is|was|am|turned|be)\s+$", before)
            predicate = is_age and not re.match(r"\s+(?!and\b|but\b|now\b)[a-z]", after)
            # In "患儿,男,3个月" the words that mark the age stay.
            start = found.start("n") if found[0][0] in "患男女年" else start_of_age
            text = text[:start] + ("of an age not told" if predicate else "") + text[found.end() :]
    return text


@lru_cache(maxsize=64)  # few patterns find an age: the others are tried on the same text
def _folded(text: str) -> str:
    """Return a text with wide signs as usual ones (NFKC), of the same length."""
    return "".join(each if len(each := unicodedata.normalize("NFKC", sign)) == 1 else sign for sign in text)


def beyond_age_and_sex(text: str) -> str:
    """Return what a short description of a person says besides age and sex; blank if nothing."""
    for stated in age_phrases(text):
        text = text.replace(stated, "")
    return _STATED["bare_age"].sub("", _STATED["who"].sub("", text), count=1)


def _found(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return [match for match in pattern.finditer(text) if _years(match) <= _OLDEST]


def _stated(text: str) -> list[re.Match[str]]:
    """Return the ages in a text, likeliest of the patient first: plain ones by place, others, then those of a thing."""
    plain = [match for pattern in _patterns_of("plain_ages") for match in _found(pattern, text)]
    others = [match for pattern in _patterns_of("other_ages") for match in _found(pattern, text)]
    return sorted([*sorted(plain, key=re.Match.start), *others], key=_of_a_thing)


def _of_a_thing(age: re.Match[str]) -> bool:
    return (age["unit"] or "y")[0].lower() in "mwdh" and _STATED["thing"].match(age.string, age.end()) is not None


def _ages(text: str, brief: bool) -> Iterator[float]:
    if not brief and (child := _brought_child(text)):
        yield _years(_stated(child[0])[0])
    for match in _stated(text):
        if brief or not _PATTERNS["not_the_patient_now"].search(_before(text, match.start())):
            yield _years(match)
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


def _brought_child(text: str) -> re.Match[str] | None:
    child = _STATED["brought_child"].search(text)
    if child is None or _STATED["patient_brings"].search(re.split("[.;]", text[: child.start()])[-1]):
        return None
    return child if any(_years(age) <= _OLDEST_CHILD for age in _stated(child[0])[:1]) else None


def _before(text: str, place: int) -> str:
    """Return the words before a place that may say whose an age is; all of them, for each age, take quadratic time."""
    return text[max(0, place - _NEAR) : place]


def _years(match: re.Match[str]) -> float:
    groups = match.groupdict()
    number = _number(groups["n"]) + (0.5 if groups.get("half") else 0)
    years = number * _YEARS_PER[(groups.get("unit") or "y")[0].lower()]
    return round(years + _number(groups.get("months") or "0") / 12, 3)


def _number(stated: str) -> float:
    """Return a number in digits or in the words of an age: ``45``, ``forty-five``, ``四十五``; infinite if none."""
    if stated[0].isdigit():
        return float(stated)
    if stated.isascii():
        return _IN_WORDS.get(" ".join(re.split(r"[\s-]+", stated.lower())), math.inf)
    return chinese_number(stated) or math.inf


def _sex(text: str, brief: bool) -> Sex | None:
    for pattern in _patterns_of("sexes"):
        if match := pattern.search(text):
            return _sex_of(match)
    if brief:
        return _sex_of(_PATTERNS["sex"].search(text) or _STATED["sex_letter"].search(text))
    if child := _brought_child(text):
        return _sex_of(child) if child["female"] or child["male"] else None
    # In running text: the word beside the age ("a 45-year-old man", not "her male partner"), else the first pronoun.
    for match in _stated(text):
        if not _PATTERNS["not_the_patient_now"].search(_before(text, match.start())):
            after = _PATTERNS["sex"].search(text, match.end(), match.end() + 40)
            before = _STATED["sex_before"].search(_before(text, match.start("n")))
            return _sex_of(before or after or _PATTERNS["pronoun"].search(text[match.end() :]))
    return None


def _sex_of(match: re.Match[str] | None) -> Sex | None:
    if match is None:
        return None
    return "female" if match["female"] else "male"
