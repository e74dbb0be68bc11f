"""The vectors of tokens."""

import sqlite3

import numpy as np
import pytest
from numpy.typing import NDArray

from cases.user_cache import cache_folder
from retrieval import token_vectors as module
from retrieval.token_vectors import WIDTH, each_token_vectors, token_likenesses, token_vectors


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


def test_how_alike_two_texts_are_is_embedded_once_and_then_read_from_the_users_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["The lungs are clear.", "No crackles.", "\u200b"]
    computed = token_likenesses("Clear lungs.", texts)
    assert computed.shape == (3, 12)
    assert computed[0].mean() > computed[1].mean() > computed[2].mean() == 0
    for cached in (module.user_vectors, module.token_vectors):
        cached.cache_clear()
    monkeypatch.setattr(module, "loaded_transformer", pytest.fail)
    assert (token_likenesses("Clear lungs.", texts[:2]) == computed[:2]).all()
    assert token_likenesses("Clear lungs.", []).shape == (0, 12)


def test_a_damaged_row_of_the_cache_is_computed_again() -> None:
    def likeness() -> NDArray[np.float32]:
        module.user_vectors.cache_clear()
        return token_likenesses("Clear lungs.", ["The lungs are clear."])

    computed = likeness()
    with sqlite3.connect(cache_folder() / "token_likenesses.sqlite") as database:
        damaged = np.full(12, np.nan, np.float32).tobytes()
        assert database.execute("UPDATE embedding SET vector = ?", [damaged]).rowcount == 1
    assert (likeness() == computed).all()


def test_products_of_tiny_components_are_0_whatever_a_program_has_set_for_numpy() -> None:
    tokens = np.full((2, 2 * WIDTH), 1e-30, np.float32)
    with np.errstate(all="raise"):
        assert not module._likeness(tokens, tokens).any()
