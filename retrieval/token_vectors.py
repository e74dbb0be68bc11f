"""Vectors of a text's tokens in their context, by the default embedding model (English)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.user_cache import cache_folder
from retrieval.embedding import content_digest, unit_rows
from retrieval.embedding_models import DEFAULT_MODEL, as_alone, loaded_transformer, model_lock
from retrieval.vector_cache import Vector, user_vectors

WIDTH = 384  # components of each layer's vector
_LAYERS = (2, -1)  # an early layer tells the words, the last one what they mean here
_LONGEST = 96  # tokens
_BATCH = 32  # texts
_LIKENESSES = 12  # numbers that tell how the tokens of two texts are alike


@lru_cache(maxsize=512)  # about 25 MB: a dialogue is judged several times while it is made, its note each time
def token_vectors(text: str, before: str = "") -> NDArray[np.float32]:
    """Return the vectors of a text's tokens (n, 2 * WIDTH): of two layers side by side, each of unit length.

    A text without any has one of zeros.

    Args:
        text: what is embedded; at most its first `_LONGEST` tokens.
        before: what was said before it, which is read as context.

    Raises:
        EmbeddingModelError: the model cannot be loaded.
    """
    return each_token_vectors([(text, before)])[text, before]


def each_token_vectors(texts: Iterable[tuple[str, str]]) -> dict[tuple[str, str], NDArray[np.float32]]:
    """Return the vectors of many texts, each with what was said before it: (text, before).

    Texts of one length are embedded together, in half the time; the last bit of a vector may depend on the others.
    """
    found: dict[tuple[str, str], NDArray[np.float32]] = {}
    with model_lock:
        model = loaded_transformer(DEFAULT_MODEL)
        import torch

        def encoded(text: str, before: str) -> Any:
            return model.tokenizer(before, text, truncation="longest_first", max_length=_LONGEST)

        read = sorted(((each, encoded(*each)) for each in dict.fromkeys(texts)), key=_length)
        batches = [
            alike[at : at + _BATCH]
            for _, group in groupby(read, _length)
            for alike in [[*group]]
            for at in range(0, len(alike), _BATCH)
        ]
        for batch in batches:
            with as_alone(), torch.inference_mode():
                ids = torch.tensor([one.input_ids for _, one in batch])
                types = torch.zeros_like(ids)  # the model was trained with one text at a time
                mask = torch.ones_like(ids)
                encode = model[0].auto_model
                output = encode(input_ids=ids, attention_mask=mask, token_type_ids=types, output_hidden_states=True)
            for place, (each, one) in enumerate(batch):
                own = [part == 1 for part in one.sequence_ids(0)]
                vectors = np.hstack([unit_rows(output.hidden_states[layer][place].numpy()[own]) for layer in _LAYERS])
                found[each] = vectors if len(vectors) else np.zeros((1, 2 * WIDTH), np.float32)
    return found


def token_likenesses(text: str, others: Sequence[str]) -> NDArray[np.float32]:
    """Return how the tokens of a text are like those of n others (n, 12), from the user's cache if it has them.

    For each layer and direction, these are of the similarities of each token to the nearest one of the other text the
    mean, the least, and the mean of the two least.

    Raises:
        EmbeddingModelError: the model cannot be loaded, and not everything is cached.
    """
    if not others:
        return np.zeros((0, _LIKENESSES), np.float32)
    cache = user_vectors(cache_folder(), "token_likenesses", np.float32, _is_sound)
    digests = [content_digest(f"{_LAYERS} {_LONGEST}\0{text}\0{other}") for other in others]
    found = cache.get(digests)
    fresh = {
        digest: _likeness(token_vectors(text), token_vectors(other))
        for digest, other in zip(digests, others, strict=True)
        if digest not in found
    }
    if fresh:
        cache.put(fresh)
    return np.array([(found | fresh)[digest] for digest in digests])


@np.errstate(under="ignore")  # which a program may have set to be an error
def _likeness(tokens: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    row = []
    for layer in (slice(WIDTH), slice(WIDTH, None)):
        similar = tokens[:, layer] @ others[:, layer].T
        for nearest in (np.sort(similar.max(axis=axis)) for axis in (1, 0)):
            row += [nearest.mean(), nearest[0], nearest[:2].mean()]
    return np.array(row, np.float32)


def _is_sound(row: Vector) -> bool:
    return row.shape == (_LIKENESSES,) and bool(np.all(abs(row) < 1.01))  # NaN compares false


def _length(read: tuple[tuple[str, str], Any]) -> int:
    return len(read[1].input_ids)
