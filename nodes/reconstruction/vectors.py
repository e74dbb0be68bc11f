"""The vectors of texts by which the gates' classifiers compare them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval import MULTILINGUAL_MODEL, embed

Rows = NDArray[np.float32]


def embedded(texts: Sequence[str]) -> Rows:
    """Return the vectors of texts, of unit length (n, d); a blank text counts as a full stop."""
    return embed([text if text.strip() else "." for text in texts], MULTILINGUAL_MODEL)
