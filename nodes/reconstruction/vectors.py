"""The vectors of texts by which the gates' classifiers compare them."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from retrieval import MULTILINGUAL_MODEL, embed

Rows = NDArray[np.float32]


def embedded(texts: Sequence[str]) -> Rows:
    """Return the vectors of texts, of unit length (n, d); a blank text counts as a full stop."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}  # of pairs, each text comes many times
    rows = embed([text if text.strip() else "." for text in places], MULTILINGUAL_MODEL)
    return rows[[places[text] for text in texts]] if texts else rows


@contextmanager
def one_thread() -> Iterator[None]:
    """Multiply matrices in one thread, for one caller at a time.

    Those of a dialogue are small, and several threads would mostly busy-wait for each other: half of all that the gates
    took. The limit is the process's, so that of two callers the second would restore the limit of the first.
    """
    with _one_caller, _matrix_libraries().limit(limits=1, user_api="blas"):
        yield


_one_caller = threading.RLock()


@cache
def _matrix_libraries() -> ThreadpoolController:
    return ThreadpoolController()
