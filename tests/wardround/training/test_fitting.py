"""Features that are mostly 0 are learned like the others."""

import numpy as np

from wardround.training.fitting import fitted_to_shares, scored


def test_the_weights_of_sparse_features_are_those_that_they_have_among_the_others() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 5)).astype(np.float32)
    rows[:, 0] = np.arange(400) % 20 == 0
    is_second = rows[:, 0] == 1
    shares = np.column_stack([~is_second, is_second]).astype(float)
    weights = fitted_to_shares(rows, shares, sparse=2)
    assert (scored(rows, weights).argmax(axis=1) == is_second).all()
    assert np.allclose(weights, fitted_to_shares(rows, shares), atol=1e-3)
