"""Medical jargon that a patient would not understand, and how it is said in everyday words (CliniChat, Table 6)."""

import re
from functools import cache, lru_cache

from cases.text.words import rules_of
from cases.vocabulary import Language, word_list


def jargon_in(text: str, language: Language) -> list[str]:
    """The terms of the list that a text uses, in the order of the text."""
    return [match.group() for match in _pattern(language).finditer(text)]


@lru_cache(maxsize=1024)
def in_lay_words(text: str, language: Language) -> str:
    """A text with the terms of the list in everyday words; an explanation in brackets that repeats them goes."""
    if language != "zh":
        text = re.sub(r"\s*\(([^()]*)\)", lambda match: "" if jargon_in(match[1], language) else match[0], text)
    return _pattern(language).sub(lambda match: _cased(_lay(match.group(), language), match.group()), text)


def _cased(lay: str, term: str) -> str:
    return lay[0].upper() + lay[1:] if term[0].isupper() and not term.isupper() else lay


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
