"""What is wrong with an answer, as its model is told that has to repair it: in the language of the prompt."""

import re

from pydantic import ValidationError

from cases.validation import placed_faults
from cases.vocabulary import CLOSED_LISTS, URGENCIES, Language
from prompts import cached_with_prompts, load_words, mark

_LONGEST = 2_000  # characters of a message; a pattern with several gaps is tried at many places of what it quotes


def what_is_wrong(error: ValueError, language: Language = "en") -> str:
    """Describe an error so that a model can correct its answer; for a validation error, places and reasons.

    What the words of the language (``ask/faults.toml``) lack is said in English.
    """
    if not isinstance(error, ValidationError):
        return in_words(str(error), language)
    colon = mark("label", language)
    placed = [f"{place}{colon}{in_words(message, language)}" for place, message in placed_faults(error, "answer")]
    return mark("series", language).join(placed)


def in_words(message: str, language: Language) -> str:
    """Return a message in the words of a language, where it has some; a long one, which quotes an answer, as it is."""
    if len(message) > _LONGEST:
        return message
    for english, words in _faults(language):
        if found := english.fullmatch(message):
            terms = _terms(language)
            return words.format(*(terms.get(named) or in_words(named, language) for named in found.groups()))
    return message


@cached_with_prompts
def _terms(language: Language) -> dict[str, str]:
    """Return the closed lists as a fault names them, each with its words in the language."""
    listed = mark("listed", language)
    return {terms.choices: listed.join(terms.labels(language)) for terms in (*CLOSED_LISTS, URGENCIES)}


@cached_with_prompts
def _faults(language: Language) -> list[tuple[re.Pattern[str], str]]:
    """Return the English messages as patterns, each with the words of the language; none for English itself."""
    english, words = load_words("ask/faults", "en"), load_words("ask/faults", language)
    return [
        (re.compile(re.sub(r"\\{\d\\}", "(.*)", re.escape(text)), re.DOTALL), words[name])
        for name, text in english.items()
        if words[name] != text
    ]
