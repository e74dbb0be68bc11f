"""A small network that compares a statement with a note, token by token.

Each token of the statement looks for the note's tokens that are like it (attention by similarity), a layer compares it
with what it finds, and the mean and the maximum over the statement decide (decomposable attention, Parikh et al. 2016).
The tokens' vectors are those of an embedding model; what follows was learned (`wardround.training.alignment`).
"""

from collections.abc import Sequence

import numpy as np

from cases.text.sentences import sentences
from nodes.reconstruction.vectors import Rows
from retrieval.token_vectors import WIDTH, token_vectors

ASKED = 200  # last characters of a question that are read with its answer
HIDDEN = 16
# The weights, which are stored as one vector: how sharply a token attends by meaning and by word, and three layers.
SHAPES = {
    "sharpness": (2,),
    "project": (2 * WIDTH, HIDDEN),
    "compare": (4 * HIDDEN + 2, HIDDEN),
    "compare_bias": (HIDDEN,),
    "decide": (2 * HIDDEN,),
    "decide_bias": (1,),
}
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())


def read_of_said(texts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what is embedded of texts that answer a question, (question, text): each with what was said before it."""
    return [(text, asked[-ASKED:]) for asked, text in texts]


def read_of_note(note: str) -> list[tuple[str, str]]:
    """Return what is embedded of a note: its sentences, each with nothing before it."""
    return [(text, "") for text in sentences(note) or ["."]]


def tokens_said(texts: Sequence[tuple[str, str]]) -> list[Rows]:
    """Return the token vectors of each text that answers a question: (question, text)."""
    return [token_vectors(*each) for each in read_of_said(texts)]


def tokens_noted(note: str) -> Rows:
    """Return the token vectors of a note's sentences (n, d)."""
    return np.vstack([token_vectors(*each) for each in read_of_note(note)])


@np.errstate(under="ignore")  # which a program may have set to be an error
def unborne(weights: Rows, said: Sequence[Rows], noted: Rows) -> Rows:
    """Return for each statement the log-odds that the note does not bear it out (n,)."""
    parts = np.split(weights, np.cumsum([np.prod(shape) for shape in SHAPES.values()])[:-1])
    one = {name: part.reshape(shape) for (name, shape), part in zip(SHAPES.items(), parts, strict=True)}
    tokens, lengths = np.vstack(said), np.array([len(each) for each in said])
    word, meaning = (tokens[:, layer] @ noted[:, layer].T for layer in (slice(WIDTH), slice(WIDTH, None)))
    likeness = one["sharpness"][0] * meaning + one["sharpness"][1] * word
    attention = np.exp(likeness - likeness.max(axis=1, keepdims=True))
    own, theirs = np.tanh(tokens @ one["project"]), np.tanh(noted @ one["project"])
    theirs = attention / attention.sum(axis=1, keepdims=True) @ theirs
    nearest = np.stack([meaning.max(axis=1), word.max(axis=1)], axis=1)
    compared = np.hstack([own, theirs, own * theirs, abs(own - theirs), nearest])
    compared = np.maximum(compared @ one["compare"] + one["compare_bias"], 0)
    starts = np.cumsum(lengths) - lengths
    mean, most = np.add.reduceat(compared, starts) / lengths[:, None], np.maximum.reduceat(compared, starts)
    scores: Rows = np.hstack([mean, most]) @ one["decide"] + one["decide_bias"]
    return scores
