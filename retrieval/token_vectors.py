"""Vectors of a text's tokens in their context, by the default embedding model (English)."""

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding import DEFAULT_MODEL, loaded_transformer, model_lock, one_thread, unit_rows

WIDTH = 384  # components of each layer's vector
_LAYERS = (2, -1)  # an early layer tells the words, the last one what they mean here
_LONGEST = 96  # tokens


def token_vectors(text: str, before: str = "") -> NDArray[np.float32]:
    """Return the vectors of a text's tokens (n, 2 * WIDTH): of two layers side by side, each of unit length.

    A text without any has one of zeros.

    Args:
        text: what is embedded; at most its first `_LONGEST` tokens.
        before: what was said before it, which is read as context.

    Raises:
        EmbeddingModelError: the model cannot be loaded.
    """
    with model_lock:
        model = loaded_transformer(DEFAULT_MODEL)
        import torch

        encoded = model.tokenizer(before, text, truncation="longest_first", max_length=_LONGEST, return_tensors="pt")
        own = [part == 1 for part in encoded.sequence_ids(0)]
        types = torch.zeros_like(encoded["input_ids"])  # the model was trained with one text at a time
        with one_thread(), torch.inference_mode():
            states = (
                model[0]
                .auto_model(
                    input_ids=encoded["input_ids"],
                    attention_mask=encoded["attention_mask"],
                    token_type_ids=types,
                    output_hidden_states=True,
                )
                .hidden_states
            )
    vectors = np.hstack([unit_rows(states[layer][0].numpy()[own]) for layer in _LAYERS])
    return vectors if len(vectors) else np.zeros((1, 2 * WIDTH), np.float32)
