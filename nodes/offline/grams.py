"""Hashed n-grams of a text: which words it has, where an embedding blurs them ("waterworks").

Source: K. Weinberger and others, "Feature Hashing for Large Scale Multitask Learning", 2009. The sign of an n-gram is
hashed too, so that those that share a bucket do not add up.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding import unit_rows

BUCKETS = 4096
_WORD = re.compile(r"[a-z0-9']+|[^\Wa-z0-9_]+")  # in 做过ct吗 three
_LETTERS_OF_WORD, _LETTERS_OF_SCRIPT = (4,), (1, 2, 3)  # lengths of n-grams, of a word in Latin letters and of another


def hashed_grams(text: str) -> NDArray[np.float32]:
    """Return how often the n-grams of a text fall into each bucket, each n-gram once, as a unit vector (buckets,)."""
    digests = [crc32(gram.encode()) for gram in {*_grams(text)}]
    signs = [1 if digest >> 31 else -1 for digest in digests]
    return unit_rows(np.bincount([digest % BUCKETS for digest in digests], signs, BUCKETS))


def _grams(text: str) -> Iterator[str]:
    """Yield the words and pairs of words of a text, and the letters of each word in n-grams, with its edges."""
    words = _WORD.findall(text.lower())
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(words))
    for word in words:
        edged = f" {word} "
        for length in _LETTERS_OF_WORD if word.isascii() else _LETTERS_OF_SCRIPT:
            yield from (edged[at : at + length] for at in range(len(edged) - length + 1))
