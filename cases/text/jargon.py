"""Medical jargon that patients would not understand, and its everyday equivalents (CliniChat, Table 6)."""

import re
from functools import cache, lru_cache

from cases.text.words import rules_of
from cases.vocabulary import Language, word_list


def jargon_in(text: str, language: Language) -> list[str]:
    """Return the jargon terms in a text, in order."""
    return [match["term"] for match in _pattern(language).finditer(text)]


@lru_cache(maxsize=1024)
def in_lay_words(text: str, language: Language) -> str:
    """Replace jargon by everyday words; an explanation in brackets that repeats a term is removed."""
    if language != "zh":
        text = re.sub(r"(?<!\s)\s*\(([^()]*)\)", lambda match: "" if jargon_in(match[1], language) else match[0], text)
    return _pattern(language).sub(lambda match: _said(_lay(match["term"], language), match), text)


def _said(lay: str, match: re.Match[str]) -> str:
    """Return the everyday words with the article, if the term had one, and with the capital that begins a sentence."""
    term, article = match["term"], match["article"] or ""
    if article:
        noun = re.sub("^an? ", "", lay)
        return f"{article[0]}{'n' if noun[0] in 'aeiou' else ''} {noun}"
    if not term[0].isupper() or term.isupper():
        return lay
    before = match.string[: match.start()].rstrip(" ")[-1:]
    is_within = re.match(r"[\w,;/-]", before)  # a list often has a capital at each illness
    return lay if is_within else lay[0].upper() + lay[1:]


def _lay(term: str, language: Language) -> str:
    terms = _terms(language)
    return terms.get(term.casefold()) or terms[term.casefold().removesuffix("s")]


@cache
def _terms(language: Language) -> dict[str, str]:
    listed = word_list("jargon")[rules_of(language)]
    return {term.casefold(): lay for term, lay in listed.items()}


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    terms = sorted(_terms(language), key=len, reverse=True)
    if language == "zh":  # which has no spaces around words, except that Latin letters are no part of another word
        either = "|".join(rf"(?<![A-Za-z]){term}(?![A-Za-z])" if term.isascii() else re.escape(term) for term in terms)
        return re.compile(f"(?P<article>)(?P<term>{either})", re.IGNORECASE)
    longest_first = "|".join(map(re.escape, terms))
    return re.compile(rf"(?:\b(?P<article>an?)\s+)?(?P<term>(?<![\w-])(?:{longest_first})s?(?![\w-]))", re.IGNORECASE)
