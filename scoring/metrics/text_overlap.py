"""Word overlap of texts, the basis of the transcript metrics.

Texts can be tokenised in two ways. The published way uses one tool for a whole data set (jieba, or rouge-score with its
stemmer). The sound way, :func:`words`, goes by the language of each utterance, because the published "English" runs
hold thousands of Chinese turns.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

from cases.text.words import HAN, jieba, language_of
from cases.vocabulary import INVISIBLE, USUAL_SIGNS

_WORD = re.compile(rf"[^\W_{HAN}]+")
_NEITHER_WORD_NOR_SPACE = re.compile(r"[^\w\s]")
# rouge-chinese ends a sentence here (a closing quotation mark is part of it).
_CHINESE_SENTENCE_END = re.compile(r"([。！？?]|\.{6})([^”’])")
# Invisible and look-alike characters, which are mapped to what they look like.
_DISGUISES = USUAL_SIGNS | str.maketrans(
    "асеорхуѕіјһԁАВЕКМНОРСТХ\u00b5", "aceopxysijhdABEKMHOPCTX\u03bc"
)  # micro sign, Greek mu


class Overlap(NamedTuple):
    """Shared words over the words of the text (precision) and of the reference (recall), each in [0, 1]."""

    precision: float
    recall: float


def rouge_1(text: Sequence[Hashable], reference: Sequence[Hashable]) -> Overlap:
    """Return ROUGE-1: shared words over the words of each side, in [0, 1]; higher is more overlap.

    ``sum of min(count in text, count in reference)`` over the length of the text (precision) or the reference (recall);
    0 for an empty side. Source: Lin 2004. Equals rouge-score on its tokens (:func:`rouge_words`), and rouge-chinese on
    sets of tokens (:func:`rouge_chinese_words`).
    """
    shared = (Counter(text) & Counter(reference)).total()
    return Overlap(shared / len(text) if text else 0.0, shared / len(reference) if reference else 0.0)


def rouge_l(text: Sequence[Hashable], reference: Sequence[Hashable]) -> Overlap:
    """Return ROUGE-L: the longest common subsequence over the words of each side, in [0, 1]; higher is more overlap.

    0 for an empty side. Source: Lin 2004; equals rouge-score on its tokens.
    """
    if not (text and reference):
        return Overlap(0.0, 0.0)
    from rapidfuzz.distance import LCSseq

    shared = LCSseq.similarity(text, reference)
    return Overlap(shared / len(text), shared / len(reference))


def levenshtein_ratio(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Return the similarity of two sequences by insertions and deletions, ``2 LCS / (m + n)``, in [0, 1]; 1 if equal.

    Source: ``Levenshtein.ratio``, which AIE uses; RapidFuzz computes the same.
    """
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(one, other)


def spoken_length(text: str) -> float:
    """Return the characters of a Chinese text without white space, or the number of space-separated words of others.

    Invisible characters are not counted.
    """
    text = text.translate(INVISIBLE)
    return float(len("".join(text.split())) if language_of(text) == "zh" else len(text.split()))


def distinct_bigrams(tokens: Sequence[str]) -> int:
    """Return the number of distinct pairs of neighbours."""
    return len(set(pairwise(tokens)))


def without_punctuation(text: str) -> str:
    """Remove everything except word characters and white space."""
    return _NEITHER_WORD_NOR_SPACE.sub("", text)


def words(text: str) -> list[str]:
    """Tokenise an utterance by its own language: jieba (without punctuation, case folded), or stemmed words.

    Words with letters that English lacks (médico, Грипп) stay whole; rouge-score would cut or lose them. Invisible
    characters, wide ones, and Cyrillic letters that look like Latin ones are mapped to what they look like.
    """
    text = text.translate(_DISGUISES)
    if language_of(text) == "zh":
        return [word.casefold() for word in jieba_words(text) if any(map(str.isalnum, word))]
    if text.isascii():
        return rouge_words(text)
    tokens = _WORD.findall(unicodedata.normalize("NFC", text).lower())
    return [part for token in tokens for part in (rouge_words(token) if token.isascii() else [token])]


@lru_cache(maxsize=4096)
def jieba_words(text: str) -> tuple[str, ...]:
    """Return all pieces that jieba cuts a text into, including punctuation and spaces."""
    return tuple(jieba().cut(text))


def rouge_words(text: str) -> list[str]:
    """Return the tokens of rouge-score: runs of a-z and 0-9, stemmed if longer than three letters; no other scripts."""
    from rouge_score.tokenize import tokenize

    tokens: list[str] = tokenize(text, _stemmer())
    return tokens


def rouge_chinese_words(text: str) -> list[str]:
    """Return the set of tokens that rouge-chinese compares when given jieba's words joined by spaces.

    A line without a word is one empty token there.
    """
    lines = _CHINESE_SENTENCE_END.sub(r"\1\n\2", " ".join(jieba_words(text))).rstrip().split("\n")
    return sorted({word for line in lines if line for word in line.split() or [""]})


@cache
def _stemmer() -> Any:
    """Return rouge-score's Porter stemmer with a cache."""
    from nltk.stem.porter import PorterStemmer

    return SimpleNamespace(stem=lru_cache(maxsize=1 << 16)(PorterStemmer().stem))
