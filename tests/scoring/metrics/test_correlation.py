import math
from random import Random

import numpy as np
import pytest
import scipy

from scoring.metrics.correlation import Correlation, spearman, spearman_matrix

TRIALS = 150


def test_spearman_is_that_of_scipy_and_undefined_without_variation() -> None:
    pairs = [(1.0, 10.0), (2.0, 30.0), (3.0, 20.0), (4.0, 40.0)]
    theirs = scipy.stats.spearmanr([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    found = spearman(pairs)
    assert (found.rho, found.n) == (pytest.approx(theirs.statistic), 4)
    draw = Random(6)
    many = [(draw.random(), draw.random()) for _ in range(120)]
    assert spearman(many).p == pytest.approx(scipy.stats.spearmanr(many).pvalue)
    assert spearman(pairs[:2]) == Correlation(None, None, 2)
    assert spearman([(1.0, value) for value in (1.0, 2.0, 3.0)]) == Correlation(None, None, 3)


def test_the_p_of_a_correlation_of_few_pairs_is_exact() -> None:
    assert spearman([(1, 1), (2, 2), (3, 3)]).p == pytest.approx(1 / 3)
    assert spearman([(number, -number) for number in range(5)]).p == pytest.approx(2 / 120)
    assert spearman([(number, number) for number in range(100)]).p == pytest.approx(1 / 10_001)
    assert (spearman([(number, number) for number in range(101)]).p or 0.0) < 1e-9, "of more, by Student's t"


def test_the_intervals_of_correlations_cover_them() -> None:
    generator, true, covered = np.random.default_rng(2), 6 / math.pi * math.asin(0.4), 0
    for _ in range(TRIALS):
        one, noise = generator.normal(size=(2, 6))
        ci95 = spearman(list(zip(one.tolist(), (0.8 * one + 0.6 * noise).tolist(), strict=True))).ci95
        covered += ci95 is not None and ci95[0] <= true <= ci95[1]
    assert 0.92 <= covered / TRIALS <= 0.995
    low, high = spearman([(number, number) for number in range(8)]).ci95 or (0, 0)
    assert 0.5 < low < 1 == high
    exchanged = spearman([(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 7), (7, 6)]).ci95 or (0, 0)
    assert low == pytest.approx(exchanged[0]) and exchanged[1] < 1
    assert spearman([(1, 1), (2, 2), (3, 3)]).ci95 is None


def test_a_matrix_correlates_over_the_cases_that_both_have() -> None:
    columns = {
        "x": {"1": 1.0, "2": 2.0, "3": 3.0},
        "y": {"3": 9.0, "1": 5.0, "2": 7.0, "4": 0.0},
        "z": {"1": 3.0, "2": 2.0, "3": 1.0},
    }
    matrix = spearman_matrix(columns)
    assert {pair: found.rho for pair, found in matrix.items()} == pytest.approx(
        {("x", "y"): 1, ("x", "z"): -1, ("y", "z"): -1}
    )
