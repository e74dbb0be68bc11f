"""Extract entities from clinical text by rules: phrases with their polarity.

A phrase is a run of words between function words, negations and punctuation: "WBC 12.5, no free air in the abdomen" has
*WBC 12.5*, *free air* (denied) and *abdomen* (denied too, as the rule does not know locations). Chinese is segmented by
jieba. Limits: no synonyms, no categories, and unknown verbs become part of their phrase.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from cases.text.statements import mentions, statements
from cases.text.words import HAN, chinese_words, has_chinese
from cases.vocabulary import word_list
from scoring.metrics.samples import MissingBackendError

_LONGEST = 6  # words of a phrase

# Words without clinical meaning of their own, which end a phrase.
_FUNCTION_WORDS = frozenset(word_list("function_words")["between_phrases"].split())
_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:[./^%×*+'’-]+[^\W_{HAN}]+)*%?")
_BESIDE_CHINESE = re.compile(rf"(?<=[{HAN}]) | (?=[{HAN}])")
_CLAUSE_END = re.compile(r"[,，、:：=()（）\[\]<>‹›]")
# Includes the colon before the mark, so that the name of the image is not taken for a heading.
_IMAGE_MARK = re.compile(r"(?:[:：]|(?<![\s:：]))\s*+[<‹]\\+image[^>›]{0,300}[>›]")


class Entity(NamedTuple):
    """A phrase of a text, and whether the text denies it."""

    phrase: str
    denied: bool = False


def entities(text: str) -> list[Entity]:
    """Return the distinct phrases of a text in order, each with its polarity."""
    found: dict[Entity, None] = {}
    for sentence in statements(without_image_marks(text)):
        for clause in _CLAUSE_END.split(sentence):
            denied = {mention.word for mention in mentions(clause) if mention.negated}
            for phrase in _phrases(clause):
                found[Entity(phrase, any(mention.word in denied for mention in mentions(phrase)))] = None
    return list(found)


def without_image_marks(text: str) -> str:
    """Return a text of Med-PMC without what stands in it for its images, which nobody says."""
    return _IMAGE_MARK.sub(" ", text)


def spacy_entities(text: str) -> list[str]:
    """Return the named entities of spaCy's small English model, which the published Examination column uses.

    Raises:
        MissingBackendError: spaCy or its model is not installed; says what to run.
    """
    return list(dict.fromkeys(entity.text for entity in _spacy()(text).ents))


def _phrases(clause: str) -> Iterator[str]:
    run: list[str] = []
    for token in [*_tokens(clause), ""]:
        if token and token.casefold() not in _FUNCTION_WORDS:
            run.append(token)
            continue
        for start in range(0, len(run), _LONGEST):
            part = run[start : start + _LONGEST]
            yield _BESIDE_CHINESE.sub("", " ".join(part))
        run = []


def _tokens(clause: str) -> Iterator[str]:
    for token in _TOKEN.findall(clause):
        yield from chinese_words(token) if has_chinese(token) else (token,)


@cache
def _spacy() -> Any:
    try:
        import spacy

        return spacy.load("en_core_web_sm")
    except (ImportError, OSError) as error:
        raise MissingBackendError(
            "the published entities need spaCy and its small English model: "
            "run `pip install spacy && python -m spacy download en_core_web_sm`, or use the entities by rules"
        ) from error
