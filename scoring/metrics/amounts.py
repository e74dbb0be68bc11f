"""Amounts with their units: whether two texts have one number in different units, such as 500 mg and 500 g."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cases.grouping import grouped
from cases.text.numbers import in_digits
from cases.text.words import has_chinese
from cases.vocabulary import compiled, data_file

# A short form, with its full stop unless that ends the sentence: "b.i.d. with food".
_SHORT = r"(?<![a-z.])(?:{})(?!\.?[a-z])(?:\.(?=[,;)]| (?-i:[a-z(])))?"


class Amount(NamedTuple):
    """A number with its unit as a text has it, per what time, and how much that is of what."""

    number: str
    unit: str
    per: str  # "" if the text does not say
    measure: tuple[str, str] | None
    words: str


def told_otherwise(text: str, report: str) -> frozenset[str]:
    """Return the numbers of a text of which a report says something else: in or per another unit alone, or how often.

    A number without a unit in either text is in no other one, nor one without a time: 500 mg may be 500 mg/day, and
    500 mg/day is not 500 mg per dose. Nothing is converted: 0.5 g is another number than 500 mg, unless the text is
    written :func:`as_in` the report. "Twice daily" is told otherwise by a report that only has "three times daily" or
    "twice weekly", and not by one that does not say how often.
    """
    known, rates, often = amounts(report), _rates(report), _how_often(report)
    in_other_units = {number for number, units in amounts(text).items() if not units & known.get(number, units)}
    per_other_times = {
        number for (number, unit), times in _rates(text).items() if times.isdisjoint(rates.get((number, unit), times))
    }
    anywhere: frozenset[str] = frozenset().union(*often.values())
    at_other_times = (
        counts
        for per, counts in _how_often(text).items()
        if (counts.isdisjoint(often[per]) if per in often else counts <= anywhere)
    )
    return frozenset((in_other_units | per_other_times).union(*at_other_times))


def as_in(text: str, report: str) -> str:
    """Return a text with each amount that a report has in another unit alone as the report writes it: 0.5 g as 500 mg.

    Masses, volumes, amounts of substance, concentrations (8.2 g/dL as 82 g/L) and times of up to weeks are converted.
    Without such an amount, the text is returned as it is.
    """
    there = _read(report)
    as_written = {(amount.number, amount.unit) for amount in there}
    words = {amount.measure: amount.words for amount in reversed(there) if amount.measure}
    other = {
        amount.words: words[amount.measure]
        for amount in _read(text)
        if amount.measure in words and (amount.number, amount.unit) not in as_written
    }

    def rewritten(found: re.Match[str]) -> str:
        return found[0].removesuffix(found["amount"]) + other.get(found["amount"], found["amount"])

    return _amount().sub(rewritten, _folded(text)) if other else text


@lru_cache(maxsize=1 << 14)  # each text is compared with many
def amounts(text: str) -> Mapping[str, frozenset[str]]:
    """Return the units of each number of a text that has any: {"500": {"mg"}, "1.2": {"mg/dL"}}."""
    units_of = grouped((amount.number, amount.unit) for amount in _read(text))
    return {number: frozenset(units) for number, units in units_of.items()}


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a text, in order."""
    read = []
    for found in _amount().finditer(_folded(text)):
        unit, of, per = _name(found["unit"]), _name(found["of"]), _name(found["per"] or found["each"])
        per = _written()["around"]["adverbs"].get((found["adverb"] or "").casefold(), per)
        times = (found["times"] or "").casefold()
        number = float(found["number"].replace(",", ""))
        measure = _measure(number * _written()["multiples"].get(times, 1), unit, of)
        whole = times + unit + (f"/{of}" if of else "")
        read.append(Amount(f"{number:.10g}", whole, per, measure, found["amount"]))
    return tuple(read)


@lru_cache(maxsize=1 << 14)
def _rates(text: str) -> Mapping[tuple[str, str], frozenset[str]]:
    """Return the times of each amount that a text only has with one: {("500", "mg"): {"day"}} for 500 mg/day."""
    times_of = grouped(((amount.number, amount.unit), amount.per) for amount in _read(text))
    return {key: frozenset(times) for key, times in times_of.items() if "" not in times}


def _measure(number: float, unit: str, of: str) -> tuple[str, str] | None:
    """Return what is measured and how much of it there is, in the smallest listed unit; None if it is not listed."""
    factors = _factors()
    kind, factor = factors.get(unit, (unit, 1.0))
    if not of:
        return kind, f"{number * factor:.6g}"
    of_kind, of_factor = factors[of]
    return f"{kind}/{of_kind}", f"{number * factor / of_factor:.6g}"


@cache
def _factors() -> dict[str, tuple[str, float]]:
    return {
        unit: (kind, float(factor)) for kind, units in _written()["factors"].items() for unit, factor in units.items()
    }


@lru_cache(maxsize=1 << 14)
def _how_often(text: str) -> Mapping[str, frozenset[str]]:
    """Return how many times a day, in two days, a week and so on something is: {"day": {"2"}, "2 day": {"1"}}."""
    often: dict[str, frozenset[str]] = {}
    written = _written()["often"]
    folded = _folded(text)
    for per, pattern in written["per"].items():
        for found in (each for form in written["forms"] for each in re.finditer(form.format(per=pattern), folded)):
            count, several = found["count"].casefold(), (found["every"] or "").strip().casefold()
            several = written["several"].get(several, several)
            key = f"{several} {per}" if several else per
            often[key] = often.get(key, frozenset()) | {written["counts"].get(count, count)}
    return often


def in_full(text: str) -> str:
    """Return a text with how often something is taken in words of its language: "twice daily" for b.i.d."""
    language = "zh" if has_chinese(text) else "en"
    for short in _written()["short"]:
        text = compiled(_SHORT.format(short["from"]), re.IGNORECASE).sub(short[language], text)
    return text


def _folded(text: str) -> str:
    return in_digits(in_full(unicodedata.normalize("NFKC", text)))


def _written() -> Mapping[str, Any]:
    return data_file("scoring.metrics", "units")


def _name(unit: str | None) -> str:
    return next((name for name, form in _spelled().items() if unit and form.fullmatch(unit)), "")


@cache
def _spelled() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(form, re.IGNORECASE) for name, form in _written()["units"].items()}


@cache
def _amount() -> re.Pattern[str]:
    around = _written()["around"]
    unit, of, per = (
        f"(?:{'|'.join(form for name, form in _written()['units'].items() if name in names)})(?![A-Za-z])"
        for names in (_written()["units"], around["of"], around["per"])
    )
    number = r"(?<![\d.,^])(?P<number>\d{1,3}+(?:,\d{3})++(?!\d)|\d++(?:\.\d++)?)"
    times = rf"(?:(?P<times>{around['times']})\s*)?"
    amount = rf"(?P<amount>{number}[\s-]*{times}(?P<unit>{unit})(?:\s*(?:/|per\b)\s*(?P<of>{of}))?)"
    before = rf"(?:每(?P<each>{per})[口服用注射静滴\s]{{0,4}})?"
    adverb = rf"\s+(?:once\s+)?(?P<adverb>{'|'.join(around['adverbs'])})\b"
    after = rf"(?=(?:\s*(?:/|(?:per|an?|each|every)\b)\s*(?P<per>{per})|{adverb})?)"
    return re.compile(f"{before}{amount}{after}", re.IGNORECASE)
