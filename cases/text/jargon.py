"""Medical jargon that patients would not understand, and its everyday equivalents (CliniChat, Table 6)."""

import re
from functools import cache, lru_cache

from cases.text.words import rules_of
from cases.vocabulary import Language, word_list


def jargon_in(text: str, language: Language) -> list[str]:
    """Return the jargon terms in a text, in order."""
    return [match.group() for match in _pattern(language).finditer(text)]


@lru_cache(maxsize=1024)
def in_lay_words(text: str, language: Language) -> str:
    """Replace jargon by everyday words; an explanation in brackets that repeats a term is removed."""
    if language != "zh":
        text = re.sub(r"\s*\(([^()]*)\)", lambda match: "" if jargon_in(match[1], language) else match[0], text)
    return _pattern(language).sub(lambda match: _match_case(_lay(match.group(), language), match), text)


def _match_case(lay: str, term: re.Match[str]) -> str:
    """Keep the capital that begins a sentence; a list of illnesses often has one at each."""
    begins = not re.search(r"[\w,;/-]\s*$", term.string[: term.start()])
    return lay[0].upper() + lay[1:] if begins and term[0][0].isupper() and not term[0].isupper() else lay


def _lay(term: str, language: Language) -> str:
    terms = _terms(language)
    return terms.get(term.casefold()) or terms[term.casefold().removesuffix("s")]


@cache
def _terms(language: Language) -> dict[str, str]:
    listed = word_list("jargon")[rules_of(language)]
    return {term.casefold(): lay for term, lay in listed.items()}


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    longest_first = "|".join(re.escape(term) for term in sorted(_terms(language), key=len, reverse=True))
    return re.compile(
        longest_first if language == "zh" else rf"(?<![\w-])(?:{longest_first})s?(?![\w-])", re.IGNORECASE
    )
