"""Two runs on the same cases, and metrics among themselves and beside people: tests, corrections, correlations."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from cases import Problem
from cases.strict import Strict
from scoring.metrics.statistics import RESAMPLES, SEED, Estimate, estimate

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float64]]

Scores = Mapping[str, Sequence[float]]  # the values of each case, one an epoch


class PairedDifference(Strict):
    """One run's metric minus the other's, on the cases that both have; p-values are two-sided."""

    difference: Estimate = Field(description="Mean of the cases' differences, with its interval over cases.")
    permutation_p: float | None = Field(None, description="Sign-flip permutation test of the mean; None under 2 cases.")
    wilcoxon_p: float | None = Field(None, description="Wilcoxon signed-rank test; None if no case differs.")


def paired_difference(one: Scores, other: Scores) -> PairedDifference:
    """Compare two runs case by case.

    Each case counts once, with the difference of its epochs' means, so that the interval (a bootstrap of whole cases,
    see :func:`scoring.metrics.statistics.estimate`) and the tests do not take epochs for independent cases. Cases that
    only one run has are left out. The permutation test turns the sign of every subset of differences where there are no
    more than 10,000 subsets (13 cases), else 10,000 random ones with a fixed seed.
    """
    shared = sorted(case for case in one if case in other and one[case] and other[case])
    differences = [_mean(one[case]) - _mean(other[case]) for case in shared]
    return PairedDifference(
        difference=estimate(differences),
        permutation_p=permutation_p(differences),
        wilcoxon_p=wilcoxon_p(differences),
    )


def permutation_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of the sign-flip permutation test of the mean difference; None under two cases.

    1 if no case differs.
    """
    if len(differences) < 2:
        return None
    import numpy as np
    from scipy.stats import permutation_test

    # Sorted: the random signs then do not depend on the order of the cases.
    result = permutation_test(
        (np.sort(np.asarray(differences, float)),),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=1000,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def wilcoxon_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of Wilcoxon's signed-rank test (Pratt's way with zeros); None if no case differs."""
    if not any(differences):
        return None
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """p-values corrected for testing many at once, by Holm's step-down; what has none stays None and is not counted.

    The k-th smallest of m becomes ``min(1, max over j <= k of (m - j + 1) p_j)``.
    """
    known = sorted((p, name) for name, p in p_values.items() if p is not None)
    corrected: dict[str, float | None] = dict.fromkeys(p_values)
    highest = 0.0
    for place, (p, name) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - place) * p))
        corrected[name] = highest
    return corrected


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation in [-1, 1], its two-sided p, and the number of pairs; None where undefined."""

    rho: float | None
    p: float | None
    n: int


def spearman(pairs: Sequence[tuple[float, float]]) -> Correlation:
    """Spearman's correlation of paired values; undefined under three pairs, or if one side does not vary."""
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if len(pairs) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return Correlation(None, None, len(pairs))
    from scipy.stats import spearmanr

    found = spearmanr(left, right)
    return Correlation(float(found.statistic), float(found.pvalue), len(pairs))


def spearman_matrix(columns: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], Correlation]:
    """The correlation between every two columns, each over the cases that both have (AIE, figure 5).

    Args:
        columns: the value of each case, by name of the metric (or of what people scored).
    """
    names = list(columns)
    return {
        (one, other): spearman(
            [(columns[one][case], columns[other][case]) for case in columns[one] if case in columns[other]]
        )
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    }


def read_human_scores(path: str | Path) -> tuple[dict[str, dict[str, float]], list[Problem]]:
    """People's scores from a CSV file: a ``case`` column, and one column for each thing they scored.

    An empty cell is no score. A case that stands in several rows (several people) gets the mean of its scores.

    Returns:
        The score of each case by column, and the problems found; what is faulty is left out.
    """
    problems: list[Problem] = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return {}, [Problem(str(path), "", "", f"cannot be read ({error}); expected a UTF-8 CSV file")]
    if not rows or "case" not in rows[0]:
        return {}, [Problem(str(path), "line 1", "case", "expected a header with 'case' and the names of the scores")]
    found: dict[str, dict[str, list[float]]] = {name: {} for name in rows[0] if name and name != "case"}
    for number, row in enumerate(rows, 2):
        for name, by_case in found.items():
            if not (cell := (row[name] or "").strip()):
                continue
            try:
                value = float(cell)
                if not math.isfinite(value):
                    raise ValueError
            except ValueError:
                problems.append(Problem(str(path), f"line {number}", name, f"expected a number, found {cell!r}"))
                continue
            by_case.setdefault(row["case"], []).append(value)
    return {
        name: {case: _mean(values) for case, values in by_case.items()} for name, by_case in found.items()
    }, problems


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
