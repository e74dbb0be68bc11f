"""Names of one disease, as the lists of abbreviations and of synonyms have them."""

from functools import cache

from cases.grouping import grouped
from cases.vocabulary import normalise, word_list


def folded_name(name: str) -> str:
    """Return what all listed names of a disease have in common, in any language; another text is only folded."""
    key = normalise(name)
    return _first_names().get(key, key)


@cache
def synonyms() -> dict[str, str]:
    """Return the first of each list of synonyms by every one of them, all folded."""
    return {normalise(name): normalise(names[0]) for names in word_list("synonyms")["names"] for name in names}


def other_names(name: str) -> list[str]:
    """Return all listed names of a disease, folded, in any language; none if it has no others."""
    return _names_of().get(folded_name(name), [])


@cache
def _names_of() -> dict[str, list[str]]:
    names_of = grouped((first, name) for name, first in _first_names().items())
    return {first: [first, *names] for first, names in names_of.items()}


@cache
def _first_names() -> dict[str, str]:
    first = synonyms()
    aliases = {normalise(other): normalise(name) for other, name in word_list("diagnoses")["same_as"].items()}
    return first | {other: first.get(name, name) for other, name in aliases.items()}
