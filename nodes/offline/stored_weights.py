"""The weights of the offline classifiers, which come with the package."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def weights_in(file: Path, precision: type[np.float32 | np.float64] = np.float32) -> dict[str, Any]:
    """Return the arrays of a file by name, read once: weights in a precision, and labels as a list."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    return {name: each.tolist() if each.dtype.kind == "U" else each.astype(precision) for name, each in arrays.items()}
