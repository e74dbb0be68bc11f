"""The vectors of tokens."""

import numpy as np

from retrieval.token_vectors import WIDTH, token_vectors


def test_each_token_has_two_vectors_of_unit_length_that_depend_on_what_was_said_before() -> None:
    alone, answer = token_vectors("Yes, twice."), token_vectors("Yes, twice.", "Have you had surgery?")
    assert alone.shape == answer.shape == (4, 2 * WIDTH)
    for layer in (slice(WIDTH), slice(WIDTH, None)):
        assert np.allclose(np.linalg.norm(answer[:, layer], axis=1), 1, atol=1e-5)
    assert not np.allclose(alone, answer, atol=0.01)
    assert len(token_vectors("pain " * 500)) < 100


def test_a_text_without_tokens_has_one_vector_of_zeros() -> None:
    assert not token_vectors("\u200b").any() and token_vectors("\u200b").shape == (1, 2 * WIDTH)
