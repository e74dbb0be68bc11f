"""Whether a question asks if something is as it should be, so that "No" would tell of a complaint.

"Can you swallow without difficulty?" A linear classifier of the question's meaning and n-grams (`asked_input`), trained
on `wellbeing.toml` and the other questions of this folder (`wardround.training.wellbeing`).
"""

from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language, data_file
from nodes.offline.classifiers import DECIMALS, asked_input

WEIGHTS = Path(str(files("nodes.offline") / "wellbeing.npz"))
_MIN_LOGIT = -0.75  # below 0, as leaving a question open in error says nothing false


@lru_cache(maxsize=4096)
def asks_if_well(words: str, language: Language) -> bool:
    """Whether the words ask if something is as it should be."""
    return round(float(asked_input(words, language) @ _weights()), DECIMALS) > _MIN_LOGIT


def questions_to_learn(language: Language) -> dict[str, bool]:
    """Return questions, and whether they ask if something is well: frames are filled with each of their fillings."""
    data = data_file("nodes.offline", "wellbeing")
    tables = [{name: lines.splitlines() for name, lines in data[each][language].items()} for each in ("can", "has")]
    filled = {
        frame.format(filling): name == "well"
        for table in tables
        for name in ("well", "ill")
        for frame in table[name]
        for filling in table["fillings"]
    }
    return dict.fromkeys(data["well"][language].splitlines(), True) | filled


@cache
def _weights() -> NDArray[np.float64]:
    """Return the weights, the bias last (d + 1,)."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        weights: NDArray[np.float64] = stored["well"][:, 0].astype(np.float64)
    return weights
