"""Amounts with their units: whether two texts have one number in different units, such as 500 mg and 500 g."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache

from cases.text.numbers import in_digits
from cases.vocabulary import data_file


def in_other_units(text: str, report: str) -> frozenset[str]:
    """Return the numbers of a text that a report has too, but in other units alone.

    A number without a unit in either text is in no other one. Nothing is converted: 0.5 g is another number than
    500 mg.
    """
    known = amounts(report)
    return frozenset(number for number, units in amounts(text).items() if not units & known.get(number, units))


@lru_cache(maxsize=1 << 14)  # each text is compared with many
def amounts(text: str) -> Mapping[str, frozenset[str]]:
    """Return the units of each number of a text that has any: {"500": {"mg"}, "1.2": {"mg/dL"}}."""
    found: dict[str, frozenset[str]] = {}
    for amount in _amount().finditer(in_digits(unicodedata.normalize("NFKC", text))):
        unit, of = (_name(amount[part]) for part in ("unit", "of"))
        whole = (amount["times"] or "").casefold() + unit + (f"/{of}" if of in _written()["around"]["of"] else "")
        number = f"{float(amount['number'].replace(',', '')):.10g}"
        found[number] = found.get(number, frozenset()) | {whole}
    return found


def _written() -> Mapping[str, dict[str, str]]:
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
