"""Extract numbers in any notation, so that a patient's words can be compared with the note."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from cases.vocabulary import Language

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {**{word: n for n, word in enumerate(_ONES)}, **{word: 10 * n for n, word in enumerate(_TENS, 2)}}
_OTHERS = {"half": 0.5, "couple": 2, "dozen": 12, "once": 1, "twice": 2, "thrice": 3, "single": 1, "both": 2, "pair": 2}
# ``(?a:`` lets no letter beyond A to Z match in another case, as "ſ" does for "s".
_ENGLISH = re.compile(
    rf"\b(?P<tens>(?a:{'|'.join(_TENS)}))(?:[- ](?P<ones>(?a:{'|'.join(_ONES[1:10])})))?\b"
    rf"|\b(?P<one>(?a:{'|'.join(_ONES)}))\b"
    rf"(?:[- ](?P<hundred>hundred|thousand))?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?")
# Numbers that count or measure: in 40mg and 5th, not in names such as B12 and L4.
_STATED = re.compile(
    r"(?<![A-Za-z\d.])(?>\d+(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?)"
    r"(?=(?:st|nd|rd|th|g|l|h|hrs?|am|pm|x|lbs?|[FC])(?![A-Za-z\d])|mg|mcg|ml|kg|cm|mm|km|°|[^A-Za-z\d]|$)",
    re.IGNORECASE,
)
_SCALES = {"hundred": 100, "thousand": 1000}
_FIRST = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_ORDINALS = {f"{re.sub('y$', 'ie', word)}th": n for word, n in NUMBER_WORDS.items()}
_ORDINALS |= {word: n for n, word in enumerate(_FIRST, 1)}
_RUN_VALUES = {**NUMBER_WORDS, **_ORDINALS, **dict.fromkeys(("oh", "o"), 0)}
_FEW = r"\d{1,15}(?:\.\d{1,15})?"  # digits; a model that repeats itself writes hundreds, which no float holds
_PART = rf"(?:(?a:{'|'.join(sorted((*_RUN_VALUES, *_SCALES, 'point'), key=len, reverse=True))})|{_FEW})"
_RUN = re.compile(rf"\b{_PART}(?:(?:[ -]| and ){_PART})*\b", re.IGNORECASE)
_HAN_DIGIT = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_HAN = "".join(_HAN_DIGIT)
_CHINESE = re.compile(rf"[{_HAN}十百]+")
# A Chinese numeral counts only before a countable word: 一直 and 一些 are not numbers.
_COUNTED = re.compile(
    rf"(?<![{_HAN}十百半])[{_HAN}十百半]++(?=[余多]?(?:个|天|日|周|月|年|岁|次|小时|分|秒|度|公斤|斤|片|粒|支|包|瓶|杯|倍|毫|克|米|厘|成))"
)
_LONGEST_RUN = 8  # parts
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_DAYS |= {"天": 1, "日": 1, "周": 7, "星期": 7, "月": 30, "年": 365, "岁": 365}
_DURATIONS = {"second": 1 / 86400, "minute": 1 / 1440, "hour": 1 / 24, "decade": 3650, **_DAYS}  # days
_DURATIONS |= {"秒": 1 / 86400, "分钟": 1 / 1440, "小时": 1 / 24}
_ABOUT = 3  # "a few"
_VAGUE = ("few", "several", "couple of", "几")
_VAGUE_SPAN = re.compile(
    rf"(?P<amount>(?<!\d){_FEW}|\b(?:few|several|couple of|(?:for|past|last|since) an?|past|last)|几)"
    rf"[\s-]*[余多来+]?个?[余多]?(?P<unit>{'|'.join(_DURATIONS)})",
    re.IGNORECASE,
)
_SPAN = re.compile(rf"(?<!\d)({_FEW})[\s-]*个?(day|week|month|year|天|日|周|星期|月|年|岁)")


def stated_numbers(text: str, language: Language) -> dict[float, str]:
    """Return the numbers that a speaker states, with their wording; "one", often a pronoun, is not counted."""
    found = {float(match.group().replace(",", "")): match.group() for match in _STATED.finditer(text)}
    if language == "zh":
        pairs = ((chinese_number(match.group()), match.group()) for match in _COUNTED.finditer(text))
        return {**found, **{value: wording for value, wording in pairs if value is not None and value > 1}}
    return {**found, **{value: wording for value, wording in _english(text) if value > 1}}


def spoken_numbers(text: str) -> list[tuple[str, list[set[float]]]]:
    """Return every run of English number words and digits, with the values that it and its parts can have.

    "One oh two point six" is 102.6, "nineteen ninety" 1990, "two thousand and four" 2004. A run may be several numbers
    ("May seventh two thousand five"): each set belongs to one way of cutting it.
    """
    found = []
    for run in _RUN.finditer(text):
        parts = [part for part in re.split(r"[ -]+", run[0].casefold()) if part != "and"]
        cuts = _cuts(tuple(parts[:_LONGEST_RUN]))  # none if a point has no digits after it
        if cuts and any(part[0].isdigit() or part in NUMBER_WORDS for part in parts):
            found.append((run[0], [set(cut) for cut in cuts]))
    return found


@lru_cache(maxsize=4096)
def _cuts(parts: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
    """Return the ways to read a run as a sequence of numbers."""
    if not parts:
        return ((),)
    return tuple(
        (value, *rest)
        for end in range(len(parts), 0, -1)
        for value in sorted(_readings(parts[:end]))
        for rest in _cuts(parts[end:])
    )


def _readings(parts: tuple[str, ...]) -> set[float]:
    """Return the values that a run can have as one number: by hundreds and thousands, digit by digit or in pairs."""
    if "point" in parts:
        at = parts.index("point")
        digits = "".join(str(int(one)) for one in map(_value, parts[at + 1 :]))
        return {float(f"{int(whole)}.{digits}") for whole in _readings(parts[:at] or ("zero",)) if digits}
    if not _SCALES.keys().isdisjoint(parts):
        total = last = 0.0
        for place, part in enumerate(parts):
            if part == "thousand":
                total, last = (total + last or 1) * 1000, 0
            elif part == "hundred":
                last = (last or 1) * 100
            elif place and last % 100 and not (_value(part) < 10 <= last % 100 and last % 10 == 0):
                return set()
            else:
                last += _value(part)
        return {total + last}
    groups: list[float] = []  # "twenty six" is one group
    for place, part in enumerate(parts):
        if place and parts[place - 1] in _TENS and 0 < _value(part) < 10:
            groups[-1] += _value(part)
        else:
            groups.append(_value(part))
    return {float("".join(str(int(one)) for one in groups)) if len(groups) > 1 else groups[0]} if groups else set()


def _value(part: str) -> float:
    return _RUN_VALUES[part] if part in _RUN_VALUES else float(part) if part[0].isdigit() else 0.0


@lru_cache(maxsize=4096)  # a note is compared with each state of its dialogue
def known_numbers(text: str) -> frozenset[float]:
    """Return every number that a note states in any notation, also converted between units of time."""
    known = {float(match.group().replace(",", "")) for match in _DIGITS.finditer(text)}
    known |= {value for value, _ in _english(text)}
    known |= {value for match in _CHINESE.finditer(text) if (value := chinese_number(match.group())) is not None}
    known |= {value for word, value in _OTHERS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)}
    if "半" in text:
        known |= {0.5}
    for number, unit in _SPAN.findall(in_digits(text)):
        days = float(number) * _DAYS[unit]
        for length in set(_DAYS.values()):
            # Tolerance of a twelfth: 12 weeks are 3 months, 18 months a year and a half.
            near = round(2 * days / length) / 2
            if near and abs(near * length - days) <= days / 12:
                known |= {near}
    return frozenset(known)


@dataclass(frozen=True)
class Span:
    """A duration as stated: an amount and a unit."""

    amount: str
    unit: str

    def lasts_as(self, other: "Span") -> bool:
        """Whether both durations are equal within a twelfth; vague ones need the same unit."""
        if self.amount[0].isdigit() and other.amount[0].isdigit():
            return abs(self.days - other.days) <= max(self.days, other.days) / 12
        return self.unit == other.unit

    @property
    def days(self) -> float:
        """The duration in days; a vague amount counts as three."""
        return (float(self.amount) if self.amount[0].isdigit() else _ABOUT) * _DURATIONS[self.unit]

    def __str__(self) -> str:
        return f"{self.amount} {self.unit}"


def spans_of_time(text: str) -> list[Span]:
    """Return the durations in a text, in order and each once, ages included; a vague amount is kept as its word."""
    spans = []
    for found in _VAGUE_SPAN.finditer(in_digits(text)):
        amount = found["amount"].casefold()
        spans.append(Span(amount if amount in _VAGUE or amount[0].isdigit() else "1", found["unit"].casefold()))
    return list(dict.fromkeys(spans))


def chinese_number(text: str) -> float | None:
    """Return the value of a Chinese numeral below a thousand; None if it is not one."""
    if text == "半":
        return 0.5
    if not re.fullmatch(rf"[{_HAN}十百]+", text):
        return None
    total, digit = 0, 0
    for sign in text:
        if sign in _HAN_DIGIT:
            digit = _HAN_DIGIT[sign]
        else:
            total += (digit or 1) * (100 if sign == "百" else 10)
            digit = 0
    return float(total + digit)


def _english(text: str) -> Iterator[tuple[float, str]]:
    for match in _ENGLISH.finditer(text):
        if match["tens"]:
            value = NUMBER_WORDS[match["tens"].lower()] + (NUMBER_WORDS[match["ones"].lower()] if match["ones"] else 0)
        else:
            value = NUMBER_WORDS[match["one"].lower()]
            value *= _SCALES.get((match["hundred"] or "").lower(), 1)
        yield float(value), match.group()


def in_digits(text: str) -> str:
    """Replace number words by digits."""
    text = _ENGLISH.sub(lambda match: f"{next(_english(match.group()))[0]:g}", text)
    return _COUNTED.sub(
        lambda match: match.group() if chinese_number(match.group()) is None else f"{chinese_number(match.group()):g}",
        text,
    )
