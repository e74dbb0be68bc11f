"""Paired differences between runs, as a data frame."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pandas

from wardround.store.recorded_run import find_runs
from wardround.tables.differences import check_comparable, differences_table


def compare(*runs: str | Path | Iterable[str | Path], margin: float | None = None) -> pandas.DataFrame:
    """Return every score of each run minus the first run's, paired over the cases that both scored.

    One row per later run and score, with the columns of ``wardround compare --csv``: ``run``, ``score`` (its name in
    `to_dataframe`); of ``baseline``, ``value`` and ``difference`` the ``_mean``, the ends of its 95 % interval
    (``_low``, ``_high``; missing where all differences are equal) and the number of cases (``_n``); the difference in
    ``percent`` of the first run's mean over these cases; ``p`` of the paired permutation test, ``p_holm`` and
    ``false_discovery`` corrected over all columns and runs, ``p_failed_as_wrong`` (``p_holm`` with failed cases as
    wrong, 1 if the difference turns round; missing if none failed), ``p_wilcoxon``, ``p_equivalence`` within the
    ``margin``, and the number of cases ``needed`` to detect such a difference.

    Args:
        runs: two or more run directories, one by one or as a list, or a sweep's; the first run is the baseline.
        margin: the largest difference that does not matter, on the scale of the scores; a twentieth of it if None.

    Raises:
        ConfigurationError: fewer than two runs, one without results, different suites, or a margin that is none.
    """
    found = find_runs([Path(run) for run in chain(*([one] if isinstance(one, str | Path) else one for one in runs))])
    check_comparable(found, margin)
    for run in found:
        run.tell_foreign()
    frame = differences_table(found, margin).frame
    names = [name for run in found[1:] for name in run.suite.titles]
    texts = dict.fromkeys(("run", "score", "interval"), "str")
    counts = dict.fromkeys(("baseline_n", "value_n", "difference_n", "needed"), "Int64")
    return frame.assign(score=names).astype({**dict.fromkeys(frame, "float64"), **counts, **texts})
