"""The network that compares statements with notes learns which are borne out."""

import numpy as np

from nodes.reconstruction.alignment import SIZE, unborne
from retrieval.token_vectors import WIDTH
from wardround.training.alignment import Aligned, fitted


def test_statements_without_a_word_of_the_note_are_told_from_those_with_its_words() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 2 * WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) / 2**0.5
    notes = []
    for _ in range(40):
        places = rng.permutation(len(vectors))
        said = [vectors[rng.choice(places[:20], 5)] for _ in range(6)]
        said += [vectors[rng.choice(places[20:], 4)] for _ in range(6)]
        notes.append(Aligned(vectors[places[:20]], said, [False] * 6 + [True] * 6))
    weights = fitted(notes[:36]).astype(np.float32)
    assert weights.shape == (SIZE,)
    for noted, said, false in notes[36:]:
        scores = unborne(weights, said, noted)
        assert list(scores > 0) == false
        assert np.allclose(np.concatenate([unborne(weights, [one], noted) for one in said]), scores, atol=1e-4)


def test_products_of_tiny_components_are_0_whatever_a_program_has_set_for_numpy() -> None:
    tokens = np.full((2, 2 * WIDTH), 1e-30, np.float32)
    with np.errstate(all="raise"):
        assert not unborne(np.zeros(SIZE, np.float32), [tokens], tokens).any()
