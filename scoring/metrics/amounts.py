"""Amounts with their units: whether two texts have one number in different units, such as 500 mg and 500 g."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cases.text.numbers import in_digits
from cases.vocabulary import data_file


class Amount(NamedTuple):
    """A number with its unit as a text has it, and how much that is of what, where its unit can be converted."""

    number: str
    unit: str
    measure: tuple[str, str] | None
    words: str


def told_otherwise(text: str, report: str) -> frozenset[str]:
    """Return the numbers of a text of which a report says something else: in other units alone, or how often.

    A number without a unit in either text is in no other one. Nothing is converted: 0.5 g is another number than
    500 mg, unless the text is written :func:`as_in` the report. "Twice daily" is told otherwise by a report that only
    has "three times daily", and not by one that does not say how often.
    """
    known, often = amounts(report), _how_often(report)
    in_other_units = {number for number, units in amounts(text).items() if not units & known.get(number, units)}
    at_other_times = (counts for per, counts in _how_often(text).items() if counts.isdisjoint(often.get(per, counts)))
    return frozenset(in_other_units.union(*at_other_times))


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
    return _amount().sub(lambda found: other.get(found[0], found[0]), _folded(text)) if other else text


@lru_cache(maxsize=1 << 14)  # each text is compared with many
def amounts(text: str) -> Mapping[str, frozenset[str]]:
    """Return the units of each number of a text that has any: {"500": {"mg"}, "1.2": {"mg/dL"}}."""
    found: dict[str, frozenset[str]] = {}
    for amount in _read(text):
        found[amount.number] = found.get(amount.number, frozenset()) | {amount.unit}
    return found


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a text, in order."""
    read = []
    for found in _amount().finditer(_folded(text)):
        unit, of = (_name(found[part]) for part in ("unit", "of"))
        of = of if of in _written()["around"]["of"] else ""
        times = (found["times"] or "").casefold()
        number = float(found["number"].replace(",", ""))
        measure = _measure(number * _written()["multiples"].get(times, 1), unit, of)
        read.append(Amount(f"{number:.10g}", times + unit + (f"/{of}" if of else ""), measure, found[0]))
    return tuple(read)


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
    """Return how many times a day, a week and so on a text says that something is: {"day": {"2"}}."""
    often: dict[str, frozenset[str]] = {}
    written = _written()["often"]
    folded = _folded(text)
    for per, pattern in written["per"].items():
        counts = {
            written["counts"].get(count.casefold(), count)
            for form in written["forms"]
            for count in re.findall(form.format(per=pattern), folded, re.IGNORECASE)
        }
        if counts:
            often[per] = frozenset(counts)
    return often


def _folded(text: str) -> str:
    return in_digits(unicodedata.normalize("NFKC", text))


def _written() -> Mapping[str, dict[str, Any]]:
    return data_file("scoring.metrics", "units")


def _name(unit: str | None) -> str:
    return next((name for name, form in _spelled().items() if unit and form.fullmatch(unit)), "")


@cache
def _spelled() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(form, re.IGNORECASE) for name, form in _written()["units"].items()}


@cache
def _amount() -> re.Pattern[str]:
    unit = f"(?:{'|'.join(_written()['units'].values())})(?![A-Za-z])"
    number = r"(?<![\d.,^])(?P<number>\d{1,3}+(?:,\d{3})++(?!\d)|\d++(?:\.\d++)?)"
    times = rf"(?:(?P<times>{_written()['around']['times']})\s*)?"
    return re.compile(rf"{number}[\s-]*{times}(?P<unit>{unit})(?:\s*(?:/|per\b)\s*(?P<of>{unit}))?", re.IGNORECASE)
