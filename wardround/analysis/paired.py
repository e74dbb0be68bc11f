"""Runs of the same cases beside the first of them: what differs, how sure that is, and what is left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from scoring.case_scores import Suite
from scoring.metrics.comparison import PairedDifference, false_discovery, holm, paired_difference
from wardround.commands.printing import counted
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result

Scores = dict[str, list[float]]  # the values of each case, one an epoch
_NAMED = 5  # so many ids are told
_MARGIN = 0.05  # of the scale: what difference does not matter, unless told otherwise


@dataclass(frozen=True)
class Difference:
    """A run's score minus the first run's, with the p of its permutation test corrected for all tests of the table."""

    found: PairedDifference
    p_holm: float | None
    false_discovery: float | None


def differences(runs: Sequence[RecordedRun], margin: float | None = None) -> list[dict[str, Difference]]:
    """Every score of each run but the first, minus the first run's, case by case.

    Corrected are the columns of all runs together, and the averages of all runs together: an average is made of its
    columns, and no test of its own among them.

    Args:
        runs: of one suite, the baseline first.
        margin: what difference does not matter, on the scale of the scores; None: a twentieth of the scale.
    """
    suite = runs[0].suite
    found: dict[tuple[int, str], PairedDifference] = {}
    for place, run in enumerate(runs[1:]):
        for name, (one, other) in paired_scores(run.scored, runs[0].scored, suite).items():
            found[place, name] = paired_difference(one, other, margin=margin_of(suite, name, margin))
    p_values = {key: each.permutation_p for key, each in found.items()}
    families = [{key: p for key, p in p_values.items() if (key[1] in suite.averages) is own} for own in (False, True)]
    corrected = {key: p for family in families for key, p in holm(family).items()}
    rates = {key: p for family in families for key, p in false_discovery(family).items()}
    return [
        {name: Difference(found[place, name], corrected[place, name], rates[place, name]) for name in suite.titles}
        for place in range(len(runs) - 1)
    ]


def margin_of(suite: Suite, name: str, margin: float | None) -> float | None:
    """What difference of a score does not matter; None where the scale is not known and nobody says it."""
    ends = suite.ends_of(name)
    return margin if margin is not None or ends is None else _MARGIN * (ends[1] - ends[0])


def paired_scores(
    results: Iterable[Result], others: Iterable[Result], suite: Suite
) -> dict[str, tuple[Scores, Scores]]:
    """Every score of each case in both runs; a case's average is over the columns that both runs have of it.

    A paper's average has no value, as in the table of scores, where the runs have no case in common in one of its
    columns.
    """
    one, other = _columns(results, suite), _columns(others, suite)
    pairs = {name: (one[name], other[name]) for name in suite.columns}
    for name, (_, columns) in suite.averages.items():
        common: dict[str, list[str]] = {}
        both = {column: one[column].keys() & other[column].keys() for column in columns}
        if name not in suite.means or all(both.values()):
            for column, cases in both.items():
                for case in cases:
                    common.setdefault(case, []).append(column)
        pairs[name] = (_averages(one, common), _averages(other, common))
    return {name: pairs[name] for name in suite.titles}


def unlike(runs: Sequence[RecordedRun]) -> list[str]:
    """In what the cases of the runs differ from those of the first, a sentence each."""
    notes = []
    first = runs[0]
    ours = {result.case_id for result in first.results}
    for run in runs[1:]:
        theirs = {result.case_id for result in run.results}
        alone = {first.name: len(ours - theirs), run.name: len(theirs - ours)}
        if any(alone.values()):
            left = " and ".join(f"{count} of {name}" for name, count in alone.items() if count)
            notes.append(f"{run.name} and {first.name} did not have the same cases: {left} are left out.")
        if run.manifest["data"] != first.manifest["data"] and (said := _released_anew(first, run, ours & theirs)):
            notes.append(f"{run.name} and {first.name}: {said}.")
        ours_scored, theirs_scored = ({result.case_id for result in each.scored} for each in (first, run))
        if lost := len(ours & theirs) - len(ours_scored & theirs_scored):
            notes.append(f"{run.name} and {first.name}: {counted(lost, 'case')} failed in one of them and left out.")
    return notes


def _released_anew(one: RecordedRun, other: RecordedRun, common: set[str]) -> str:
    """Whether texts or keys of the cases that both runs have are others: two releases of the same data."""
    (cases, _), (others, _) = one.known_cases(), other.known_cases()
    if not (cases and others):
        return "whether texts and keys of the cases that both have are the same is not known, their file is another now"
    # Where a case and its pictures lie, and which split it is of, changes nothing that is asked or scored.
    place: Any = {"split": True, "provenance": True, "examinations": {"images": {"__all__": {"file"}}}}
    changed = [
        case
        for case in sorted(common)
        if cases[case].model_dump(exclude=place) != others[case].model_dump(exclude=place)
    ]
    if not changed:
        return ""
    named = ", ".join(changed[:_NAMED]) + (" and others" if len(changed) > _NAMED else "")
    return f"texts or keys of {len(changed)} cases that both have, and which are compared, are others: {named}"


def _columns(results: Iterable[Result], suite: Suite) -> dict[str, Scores]:
    scores: dict[str, Scores] = {name: {} for name in suite.columns}
    for result in sorted(results, key=lambda result: result.key):
        for name, of_column in scores.items():
            if (value := result.scores.get(name)) is not None:
                of_column.setdefault(result.case_id, []).append(value)
    return scores


def _averages(scores: Mapping[str, Scores], columns: Mapping[str, Sequence[str]]) -> Scores:
    return {case: [fmean(fmean(scores[name][case]) for name in names)] for case, names in columns.items()}
