"""How alike texts are by the pieces of words that they share: TF-IDF cosine, for any language, without a model.

Pieces are runs of three to five letters within a word, of one or two characters in Chinese, so that neither endings nor
a cutter of words matter. On 65 AgentClinic cases with a case of the same diagnosis among 213 others, the most alike
record has it in 50 by the whole record, in 41 by what the patient tells and in 47 by what was found.
"""

import re
import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, count
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cases.text.words import HAN

_WORD = re.compile(f"(?P<han>[{HAN}]+)|[^\\W_{HAN}]+")
_WIDTH = 1 << 20
_NUMBERS = array(
    "i", bytes(4 * _WIDTH)
)  # of the hashes in the order in which they were seen, from 1: vectors stay short
_NUMBERING, _NEXT = Lock(), count(1)

Row = tuple[NDArray[np.int64], NDArray[np.float64]]  # the pieces of a text, and how much each weighs


class _Corpus(NamedTuple):
    """Texts as vectors of length one: the entries of all of them, one after the other."""

    rarity: NDArray[np.float64]  # of a piece, by how many of the texts have it
    having: NDArray[np.int64]  # how many of the texts have each piece
    text: NDArray[np.int64]  # of each entry: whose it is
    piece: NDArray[np.int64]
    weight: NDArray[np.float64]


def likeness(text: str, others: Sequence[str]) -> list[float]:
    """How alike a text is to each of the others, in [0, 1]; pieces that many of the others have weigh little.

    The others are kept for the next text that is compared with the same.
    """
    if not others:
        return []
    corpus = _corpus(tuple(others))
    pieces, counts = _pieces(text)
    places = np.where(pieces < len(corpus.having), pieces, 0)  # 0: what was first seen after the others
    weights = counts * corpus.rarity[corpus.having[places]]
    asked = np.zeros(len(corpus.having))
    asked[places] = weights / (np.linalg.norm(weights) or 1.0)
    alike: list[float] = _summed(corpus, asked[corpus.piece] * corpus.weight, len(others)).tolist()
    return alike


@lru_cache(maxsize=32)
def _corpus(texts: tuple[str, ...]) -> _Corpus:
    rows = [_pieces(text) for text in texts]
    piece = np.concatenate([pieces for pieces, _ in rows])
    having = np.bincount(piece, minlength=1)
    rarity = np.log((1 + len(texts)) / (1 + np.arange(len(texts) + 1))) + 1
    weight = np.concatenate([counts for _, counts in rows]) * rarity[having[piece]]
    text = np.repeat(np.arange(len(texts)), [len(pieces) for pieces, _ in rows])
    corpus = _Corpus(rarity, having, text, piece, weight)
    lengths = np.sqrt(_summed(corpus, weight**2, len(texts)))
    return corpus._replace(weight=weight / lengths[text])


def _summed(corpus: _Corpus, values: NDArray[np.float64], texts: int) -> NDArray[np.float64]:
    """A value of each entry, summed by text."""
    return np.bincount(corpus.text, weights=values, minlength=texts).astype(np.float64, copy=False)


@lru_cache(maxsize=4096)
def _pieces(text: str) -> Row:
    """The pieces of a text, by their numbers, and how much each weighs: one, and more for those that come again."""
    words = _WORD.finditer(text.casefold())
    found = Counter(chain.from_iterable(_numbers(match[0], match["han"] is not None) for match in words))
    return np.array(list(found), dtype=np.int64), 1 + np.log(np.array(list(found.values()), dtype=np.float64))


@lru_cache(maxsize=1 << 15)
def _numbers(word: str, han: bool) -> list[int]:
    """The pieces of a word; a long text has some hundreds of words that differ."""
    word, lengths = (word, (1, 2)) if han else (f" {word} ", (3, 4, 5))
    pieces = (word[start : start + length] for length in lengths for start in range(len(word) - length + 1))
    hashes = [zlib.crc32(piece.encode("utf-8", "replace")) % _WIDTH for piece in pieces]
    with _NUMBERING:
        for each in hashes:
            _NUMBERS[each] = _NUMBERS[each] or next(_NEXT)
    return [_NUMBERS[each] for each in hashes]
