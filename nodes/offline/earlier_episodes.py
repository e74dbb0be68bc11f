"""Whether a recorded sentence tells of an earlier episode like the present one, or that there was none.

"Have you had anything like this before?" is answered by such sentences alone; an accident of years ago may be near. A
linear classifier of the sentence's meaning, n-grams and listed words (`told_features`), trained on
`earlier_episodes.toml` and the sentences of the labelled cases (`wardround.training.earlier_episodes`), knows them; a
pattern knows what comes again and again.
"""

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from cases.vocabulary import Language, data_file, patterns
from nodes.offline.classifiers import DECIMALS, shares, told_features
from nodes.offline.consultation_words import in_known_words
from nodes.offline.stored_weights import weights_in
from nodes.offline.subjects import matters_told

_PATTERNS = patterns("nodes.offline", "patterns")
WEIGHTS = Path(str(files("nodes.offline") / "earlier_episodes.npz"))
_LEAST = 0.5  # probability that a question asks for it


def asks_of_earlier_episodes(question: str, language: Language) -> bool:
    """Whether a question asks whether this, or something like it, came before."""
    asked = shares(in_known_words(question, language), language)[matters_told().index("similar before")]
    return bool(asked >= _LEAST or _PATTERNS["asks_of_earlier"].search(question))


@lru_cache(maxsize=4096)
def tells_of_earlier_episodes(text: str, language: Language) -> bool:
    """Whether a recorded sentence tells whether this, or something like it, came before."""
    if _PATTERNS["repeated"].search(text):
        return True
    weights = weights_in(WEIGHTS, np.float64)["tells"][:, 0]  # the bias last (d + 1,)
    return round(float(np.append(told_features([text], language)[0], 1) @ weights), DECIMALS) > 0


def sentences_to_learn(language: Language) -> dict[str, bool]:
    """Return recorded sentences, and whether they tell of an earlier episode."""
    data = data_file("nodes.offline", "earlier_episodes")
    lines = {name: data[name][language].splitlines() for name in ("others", "tells")}
    return dict.fromkeys(lines["others"], False) | dict.fromkeys(lines["tells"], True)
