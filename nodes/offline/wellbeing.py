"""Whether a question asks if something is as it should be, so that "No" would tell of a complaint.

"Can you swallow without difficulty?" A linear classifier of the question's meaning and n-grams (`asked_input`), trained
on `wellbeing.toml` and the other questions of this folder (`wardround.training.wellbeing`).
"""

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from cases.vocabulary import Language, data_file
from nodes.offline.classifiers import DECIMALS, asked_input
from nodes.offline.stored_weights import weights_in

WEIGHTS = Path(str(files("nodes.offline") / "wellbeing.npz"))
_MIN_LOGIT = -0.75  # below 0, as leaving a question open in error says nothing false


@lru_cache(maxsize=4096)
def asks_if_well(words: str, language: Language) -> bool:
    """Whether the words ask if something is as it should be."""
    weights = weights_in(WEIGHTS, np.float64)["well"][:, 0]  # the bias last (d + 1,)
    return round(float(asked_input(words, language) @ weights), DECIMALS) > _MIN_LOGIT


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
