"""The vectors of tokens."""

import numpy as np

from retrieval.token_vectors import WIDTH, each_token_vectors, token_vectors


def test_each_token_has_two_vectors_of_unit_length_that_depend_on_what_was_said_before() -> None:
    alone, answer = token_vectors("Yes, twice."), token_vectors("Yes, twice.", "Have you had surgery?")
    assert alone.shape == answer.shape == (4, 2 * WIDTH)
    for layer in (slice(WIDTH), slice(WIDTH, None)):
        assert np.allclose(np.linalg.norm(answer[:, layer], axis=1), 1, atol=1e-5)
    assert not np.allclose(alone, answer, atol=0.01)
    assert len(token_vectors("pain " * 500)) < 100


def test_a_text_without_tokens_has_one_vector_of_zeros() -> None:
    assert not token_vectors("\u200b").any() and token_vectors("\u200b").shape == (1, 2 * WIDTH)


def test_texts_that_are_embedded_together_have_the_vectors_that_each_has_alone() -> None:
    texts = [("Yes, twice.", "Have you had surgery?"), ("Yes, twice.", ""), ("No, never.", ""), ("\u200b", "")]
    together = each_token_vectors([*texts, texts[0]])
    assert together.keys() == {*texts}
    assert all(np.allclose(rows, token_vectors(*each), atol=1e-5) for each, rows in together.items())


def test_what_was_embedded_is_not_embedded_again() -> None:
    assert token_vectors("Yes, twice.", "Have you had surgery?") is token_vectors(
        "Yes, twice.", "Have you had surgery?"
    )
