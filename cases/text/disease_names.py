"""Names of one disease, as the lists of abbreviations and of synonyms have them."""

from functools import cache

from cases.vocabulary import normalise, word_list


def folded_name(name: str) -> str:
    """Return what all listed names of a disease have in common, in any language; another text is only folded."""
    key = normalise(name)
    return _first_names().get(key, key)


@cache
def synonyms() -> dict[str, str]:
    """Return the first of each list of synonyms by every one of them, all folded."""
    return {normalise(name): normalise(names[0]) for names in word_list("synonyms")["names"] for name in names}


@cache
def _first_names() -> dict[str, str]:
    first = synonyms()
    aliases = {normalise(other): normalise(name) for other, name in word_list("diagnoses")["same_as"].items()}
    return first | {other: first.get(name, name) for other, name in aliases.items()}
