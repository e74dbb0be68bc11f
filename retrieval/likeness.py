"""How alike texts are by the pieces of words that they share: TF-IDF cosine, for any language, without a model.

Pieces are runs of three to five letters within a word, of one or two characters in Chinese, so that neither endings nor
a cutter of words matter. On 65 AgentClinic cases with a case of the same diagnosis among 213 others, the most alike
record has it in 50 by the whole record, in 41 by what the patient tells and in 47 by what was found.
"""

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cases.text.words import HAN

_WORD = re.compile(f"(?P<han>[{HAN}]+)|[^\\W_{HAN}]+")
_WIDTH = 1 << 20

Row = tuple[NDArray[np.int64], NDArray[np.float64]]
Rarity = tuple[NDArray[np.float64], NDArray[np.int32]]  # of a piece by how many have it, and how many have each


def likeness(text: str, others: Sequence[str]) -> list[float]:
    """How alike a text is to each of the others, in [0, 1]; pieces that many of the others have weigh little.

    Args:
        text: what is compared.
        others: what it is compared with; kept for the next text that is compared with the same.
    """
    if not others:
        return []
    rarity, rows = _corpus(tuple(others))
    asked = np.zeros(_WIDTH)
    places, weights = _unit(_pieces(text), rarity)
    asked[places] = weights
    return [float(asked[places] @ weights) for places, weights in rows]


@lru_cache(maxsize=32)
def _corpus(texts: tuple[str, ...]) -> tuple[Rarity, list[Row]]:
    """How rare each piece is among the texts, and the texts as rows of length one."""
    pieces = [_pieces(text) for text in texts]
    having = np.bincount(np.concatenate([places for places, _ in pieces]), minlength=_WIDTH)
    rarity = np.log((1 + len(texts)) / (1 + np.arange(len(texts) + 1))) + 1, having.astype(np.int32)
    return rarity, [_unit(row, rarity) for row in pieces]


def _unit(row: Row, rarity: Rarity) -> Row:
    (places, weights), (of, having) = row, rarity
    weighed = weights * of[having[places]]
    return places, weighed / (np.linalg.norm(weighed) or 1.0)


@lru_cache(maxsize=4096)
def _pieces(text: str) -> Row:
    """The pieces of a text, by their hashes, and how much each weighs: one, and more for those that come again."""
    found: Counter[int] = Counter()
    for match in _WORD.finditer(text.casefold()):
        word, lengths = (match[0], (1, 2)) if match["han"] else (f" {match[0]} ", (3, 4, 5))
        for length in lengths:
            for start in range(len(word) - length + 1):
                found[zlib.crc32(word[start : start + length].encode("utf-8", "replace")) % _WIDTH] += 1
    return np.array(list(found), dtype=np.int64), 1 + np.log(np.array(list(found.values()), dtype=np.float64))
