"""Compare runs with the first of them on the same cases: differences, their uncertainty, and what is left out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from cases.grouping import grouped
from scoring.case_scores import Suite
from scoring.metrics.comparison import (
    PairedDifference,
    case_differences,
    false_discovery,
    holm,
    p_in_direction,
    paired_difference,
)
from wardround.analysis.summary import failures_as_wrong
from wardround.printing import counted, first_of
from wardround.store.manifest import program_of
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result

Scores = dict[str, list[float]]  # the values of each case, one per epoch
PValues = Mapping[tuple[int, str], float | None]  # by the place of the run after the first, and the score
_SHOWN_IDS = 5  # ids named in a note
_MADE_OF = {"prompts": "prompts", "plugins": "plug-ins", "weights": "weights"}  # parts of a manifest, by name each
_MARGIN = 0.05  # default margin: the difference that does not matter, as a share of the scale


@dataclass(frozen=True)
class Difference:
    """A run's score minus the first run's; p values are corrected for all tests of the table."""

    found: PairedDifference
    p_holm: float | None
    false_discovery: float | None


def differences(
    runs: Sequence[RecordedRun], margin: float | None = None, *, with_failures: bool = False
) -> list[dict[str, Difference]]:
    """Return every score of each run minus the first run's, paired by case.

    The p values are corrected over the columns of all runs together, and over the averages of all runs together: an
    average is made of its columns, so it is not a further test among them.

    Args:
        runs: of one suite, the baseline first.
        margin: the difference that does not matter, on the scale of the scores; a twentieth of the scale if None.
        with_failures: whether failed cases count, as wrong.
    """
    suite = runs[0].suite
    found = {
        (number, name): paired_difference(*pair, margin=margin_of(suite, name, margin))
        for (number, name), pair in _pairs_of_runs(runs, with_failures)
    }
    left_out = spare_columns(runs)
    p_values = {key: None if key[1] in left_out else each.permutation_p for key, each in found.items()}
    corrected, rates = (_by_family(p_values, suite, correct) for correct in (holm, false_discovery))
    return [
        {name: Difference(found[number, name], corrected[number, name], rates[number, name]) for name in suite.titles}
        for number in range(len(runs) - 1)
    ]


def spare_columns(runs: Sequence[RecordedRun]) -> set[str]:
    """Return the columns that stand for another one which no case of the runs lacks (see `Suite.stands_in`)."""
    return {
        name
        for name, other in runs[0].suite.stands_in.items()
        if all(one.scores.get(name) is None or one.scores.get(other) is not None for run in runs for one in run.scored)
    }


def _pairs_of_runs(
    runs: Sequence[RecordedRun], with_failures: bool
) -> Iterator[tuple[tuple[int, str], tuple[Scores, Scores]]]:
    """Yield each later run's scores with the first run's, by the later run's place and the score."""
    first, *others = [scored_or_wrong(run) if with_failures else run.scored for run in runs]
    for number, results in enumerate(others):
        for name, pair in paired_scores(results, first, runs[0].suite).items():
            yield (number, name), pair


def scored_or_wrong(run: RecordedRun) -> list[Result]:
    """Return a run's results with failed cases counted as wrong."""
    return failures_as_wrong(run.results, run.suite) or run.scored


def p_with_failures(runs: Sequence[RecordedRun]) -> list[dict[str, float | None]]:
    """Return the corrected p of each run's differences to the first run, with failed cases counted as wrong.

    Over the cases that both runs scored, a run that fails where it would be wrong looks better than it is. Where it is
    better over these cases and worse with the failed ones, or the reverse, p is 1.
    """
    suite, left_out = runs[0].suite, spare_columns(runs)
    scored_by_both = {key: case_differences(*pair) for key, pair in _pairs_of_runs(runs, False)}
    p_values = {
        key: None if key[1] in left_out else p_in_direction(case_differences(*pair), scored_by_both[key])
        for key, pair in _pairs_of_runs(runs, True)
    }
    corrected = _by_family(p_values, suite, holm)
    return [{name: corrected[number, name] for name in suite.titles} for number in range(len(runs) - 1)]


def _by_family(p_values: PValues, suite: Suite, correct: Callable[[PValues], PValues]) -> PValues:
    """Correct the columns of all runs together, and the averages of all runs together."""
    averages = {key: p for key, p in p_values.items() if key[1] in suite.averages}
    columns = {key: p for key, p in p_values.items() if key not in averages}
    return {**correct(columns), **correct(averages)}


def margin_of(suite: Suite, name: str, margin: float | None) -> float | None:
    """Return the margin of a score; None if none is given and the scale is unknown."""
    ends = suite.ends_of(name)
    return margin if margin is not None or ends is None else _MARGIN * (ends[1] - ends[0])


def paired_scores(
    results: Iterable[Result], others: Iterable[Result], suite: Suite, *, own_averages: bool = False
) -> dict[str, tuple[Scores, Scores]]:
    """Return every score of each case in both runs; averages are over the columns that both runs have for a case.

    A case's average is its part in that of the table of scores, the mean of the columns' means: its mean over the cases
    is the mean of the columns' means over the common cases, whichever columns a case lacks. With ``own_averages``, it
    is the mean of the case's own columns instead. A paper's average has no value if the runs have no case in common in
    one of its columns.
    """
    one, other = _columns(results, suite), _columns(others, suite)
    pairs = {name: (one[name], other[name]) for name in suite.columns}
    for name, (_, columns) in suite.averages.items():
        common: dict[str, list[str]] = {}
        common_cases = {column: one[column].keys() & other[column].keys() for column in columns}
        if name not in suite.means or all(common_cases.values()):
            common = grouped((case, column) for column, cases in common_cases.items() for case in cases)
        alike = {} if own_averages else {column: len(cases) for column, cases in common_cases.items() if cases}
        pairs[name] = (_averages(one, common, alike), _averages(other, common, alike))
    return {name: pairs[name] for name in suite.titles}


def unlike(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe how each run's cases, and what made it, differ from those of the first run, one sentence each."""
    notes = []
    first = runs[0]
    ours = {result.case_id for result in first.results}
    for run in runs[1:]:
        theirs = {result.case_id for result in run.results}
        exclusive = {first.name: len(ours - theirs), run.name: len(theirs - ours)}
        if any(exclusive.values()):
            counts = " and ".join(f"{count} of {name}" for name, count in exclusive.items() if count)
            notes.append(f"{run.name} and {first.name} did not run the same cases: {counts} are left out.")
        if run.manifest["data"] != first.manifest["data"] and (note := _changed_cases(first, run, ours & theirs)):
            notes.append(f"{run.name} and {first.name}: {note}.")
        ours_scored, theirs_scored = (Counter(result.case_id for result in each.scored) for each in (first, run))
        both = ours_scored.keys() & theirs_scored.keys()
        in_one = (ours_scored.keys() ^ theirs_scored.keys()) & ours & theirs
        in_both = (ours & theirs) - both - in_one
        failed = [(in_one, "one of them"), (in_both, "both")]
        if listed := [f"{counted(len(cases), 'case')} that failed in {where}" for cases, where in failed if cases]:
            notes.append(f"{run.name} and {first.name}: without {' and '.join(listed)}.")
        if partly := sum(ours_scored[case] != theirs_scored[case] for case in both):
            cases = counted(partly, "compared case")
            notes.append(f"{run.name} and {first.name} scored different numbers of epochs of {cases}.")
        if parts := _made_otherwise(run, first):
            notes.append(f"{run.name} and {first.name} were made with different {'; '.join(parts)}.")
    return notes


def _made_otherwise(run: RecordedRun, first: RecordedRun) -> list[str]:
    """Name what differs between two runs, and in no setting: the program, and the content of files."""
    manifests = run.manifest, first.manifest
    programs = {program_of(manifest): None for manifest in manifests}
    found = [f"programs ({', '.join(programs)})"] if len(programs) > 1 else []
    for part, title in _MADE_OF.items():
        ours, theirs = (manifest.get(part) or {} for manifest in manifests)
        if names := sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]):
            found.append(f"{title} ({first_of(names)})")
    memories = {manifest.get("memory_content") for manifest in manifests} - {None}
    return [*found, "memories"] if len(memories) > 1 else found


def _changed_cases(one: RecordedRun, other: RecordedRun, common: set[str]) -> str:
    """Describe whether common cases have other texts or keys in the two runs, as in two releases of the same data."""
    (cases, _), (others, _) = one.known_cases(), other.known_cases()
    if not (cases and others):
        return "the case file has changed since, so whether both had the same texts and keys is unknown"
    # The path and the split of a case, and where its pictures are, affect neither questions nor scores.
    ignored: Any = {"split": True, "provenance": True, "examinations": {"images": {"__all__": {"file"}}}}
    changed = [
        case
        for case in sorted(common & cases.keys() & others.keys())
        if cases[case].model_dump(exclude=ignored) != others[case].model_dump(exclude=ignored)
    ]
    if not changed:
        return ""
    named = ", ".join(changed[:_SHOWN_IDS]) + (" and others" if len(changed) > _SHOWN_IDS else "")
    return f"the texts or keys of {len(changed)} of the compared cases differ between the runs: {named}"


def _columns(results: Iterable[Result], suite: Suite) -> dict[str, Scores]:
    ordered = sorted(results, key=lambda result: result.key)
    return {
        name: grouped((one.case_id, value) for one in ordered if (value := one.scores.get(name)) is not None)
        for name in suite.columns
    }


def _averages(scores: Mapping[str, Scores], columns: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Scores:
    """Return each case's average; with the number of cases of each column, a column counts alike however few it has."""

    def weight(name: str, names: Sequence[str]) -> float:
        return len(columns) * len(names) / (len(counts) * counts[name]) if counts else 1.0

    return {
        case: [fmean(weight(name, names) * fmean(scores[name][case]) for name in names)]
        for case, names in columns.items()
    }
