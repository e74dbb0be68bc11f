"""Summarise a run: what ``summary.json`` holds."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from cases.grouping import grouped
from llm.trace import models_by_role, summed
from scoring.case_scores import AVERAGE, JUDGE_FAILED, METRIC_FAILED, Suite
from scoring.medchain.error_propagation import StagePassage, error_propagation
from scoring.metrics.samples import mean
from scoring.metrics.statistics import ColumnEstimates, Ends, Estimate, estimate_columns
from wardround.store.result import Result

_MAX_REASONS = 5  # reasons named in a summary
_REASON_LENGTH = 400  # characters of a reason: the remedy and the model are at its end
_CALL_PLACE = re.compile(r" at (?!.* at )\S[^,]*, model (?=\S+$)")  # where a question was asked; the model stays
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


def summarise_results(results: Sequence[Result], suite: Suite) -> dict[str, Any]:
    """Return the summary of a run; it depends on the results alone, not on their order.

    ``attempted = scored + failed``, counting each of the ``cases`` once per epoch. A score's mean is over the cases
    with a reference for it; ``unscored`` counts the others by reason. Cases stopped at a limit are scored with what
    they had, and counted as ``limited``.
    """
    ordered = sorted(results, key=lambda result: result.key)
    scored = [result for result in ordered if result.scored]
    found = estimate_scores(scored, suite)
    return {
        "suite": suite.name,
        "attempted": len(ordered),
        "cases": len({result.case_id for result in ordered}),
        "scored": len(scored),
        "failed": len(ordered) - len(scored),
        "limited": sum(result.limited for result in ordered),
        "terminations": dict(sorted(Counter(result.termination for result in ordered).items())),
        "failures": most_frequent_failures(ordered),
        "dropped_seats": sum(result.dropped_seats for result in ordered),
        "unanswered": _unanswered(ordered),
        "unnamed_results": sum(result.unnamed_results for result in ordered),
        "repeating": count_repeating(ordered),
        "scores": {name: one.model_dump(mode="json") for name, one in found.items()},
        "intervals": {name: one.interval for name, one in found.items()},
        "narrow": [name for name, one in found.items() if one.narrow],
        "failed_as_wrong": {name: one.model_dump(mode="json") for name, one in failed_as_wrong(ordered, suite).items()},
        "unscored": count_unscored(scored, suite),
        "error_propagation": [passage.model_dump(mode="json") for passage in propagation(scored, suite)],
        "stages": {stage: dict(sorted(Counter(ends).items())) for stage, ends in _by_stage(scored, "stages")},
        "rounds": {stage: mean(counts) for stage, counts in _by_stage(scored, "rounds")},
        "calls": sum(result.calls for result in ordered),
        "uncounted": sum(result.uncounted for result in ordered),
        "tokens": sum(result.tokens for result in ordered),
        "cost": summed(result.cost for result in ordered),
        "seconds": sum(result.seconds for result in ordered),
        "models": models_of(ordered),
        "languages": languages_of(ordered),
    }


def _unanswered(results: Iterable[Result]) -> dict[str, int]:
    """Count the questions of completed cases that got no answer and are told of nowhere else, by role."""
    counts = sum((Counter(result.unanswered) for result in results), Counter[str]())
    return dict(sorted(counts.items()))


def count_repeating(results: Iterable[Result]) -> dict[str, int]:
    """Count the dialogues whose doctor, or patient, said one thing again and again to the end; empty if none.

    ``dialogues`` counts all of which that is known.
    """
    known = [result.repeating for result in results if result.repeating is not None]
    counts = Counter(speaker for each in known for speaker in each)
    return {"dialogues": len(known), **dict(sorted(counts.items()))} if counts else {}


def propagation(scored: Sequence[Result], suite: Suite) -> list[StagePassage]:
    """Return how errors propagate along the suite's stages in scored results; empty if it has none."""
    return error_propagation([one.scores for one in scored], suite.stages, cases=[one.case_id for one in scored])


def most_frequent_failures(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return why cases failed or were stopped, most frequent first, each with one case's message.

    Messages that differ only in numbers, quotations or the place of the call are grouped.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.termination != "completed":
            message = _CALL_PLACE.sub(" with ", result.error or "")
            groups.setdefault((result.termination, _VARYING.sub("", message)), []).append(message[:_REASON_LENGTH])
    most = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        {"termination": termination, "cases": len(messages), "reason": messages[0]}
        for (termination, _), messages in most[:_MAX_REASONS]
    ]


def languages_of(results: Iterable[Result]) -> list[str]:
    """Return the languages of the cases; empty for results of earlier versions."""
    return sorted({result.language for result in results} - {""})


def models_of(results: Iterable[Result]) -> dict[str, list[str]]:
    """Return the models that answered, by role."""
    return models_by_role(pair for result in results for pair in result.models.items())


def estimate_scores(scored: Sequence[Result], suite: Suite) -> dict[str, Estimate]:
    """Return the mean of every score over the cases that have it; ``average`` is the unweighted mean of these means.

    This is how MedChain's published column is made (Table 2: 0.5269 for MedChain-Agent). For the intervals, the epochs
    of a case are one case. Metrics of plug-ins are estimated separately, so that they never change the published
    columns.
    """
    cases = [result.case_id for result in scored]

    def over(names: Iterable[str]) -> ColumnEstimates:
        columns = {name: [result.scores.get(name) for result in scored] for name in names}
        return estimate_columns(columns, cases, {name: suite.ends_of(name) for name in columns})

    published = over(suite.published)
    found = {**published.columns, **{name: over([name]).columns[name] for name in suite.metrics}}
    for name, (_, columns) in suite.averages.items():
        complete = name not in suite.means or all(found[column].n for column in columns)
        estimates = published if name == AVERAGE else over(columns)
        found[name] = estimates.average if complete else Estimate(n=0)
    return {name: found[name] for name in suite.titles}


def failed_as_wrong(results: Sequence[Result], suite: Suite) -> dict[str, Estimate]:
    """Return the means if every failed case, and every answer on which a judge failed, counts as wrong.

    It is the lower bound of the means over scored cases: a system gains nothing by failing where it would be wrong.
    Columns without a worst score (lengths, plug-in metrics) have no bound, nor have those that no case of the run has,
    nor a paper's average of such a column. Empty if nothing failed.
    """
    as_wrong = failures_as_wrong(results, suite)
    if as_wrong is None:
        return {}
    ends = _bounded(results, suite)
    columns = {name: [result.scores.get(name) for result in as_wrong] for name in ends}
    cases = [result.case_id for result in as_wrong]
    bounds = estimate_columns(columns, cases, ends)
    found = {**bounds.columns, **({AVERAGE: bounds.average} if AVERAGE in suite.averages else {})}
    for name, (_, averaged) in suite.means.items():
        if all(column in ends and found[column].n for column in averaged):
            found[name] = estimate_columns({column: columns[column] for column in averaged}, cases, ends).average
    return found


def failures_as_wrong(results: Sequence[Result], suite: Suite) -> list[Result] | None:
    """Return the results with the worst score wherever a case, or its judge, failed; None if that changes nothing.

    A case does not count in a column for which its key has nothing.
    """
    asked = [result for result in results if not result.refused]
    if all(result.scored and not result.judges_failed for result in asked):
        return None
    ends = _bounded(results, suite)

    def scores(result: Result) -> dict[str, float | None]:
        failed = [
            name for name in ends if _judge_failed(result, name) or not (result.scored or name in result.unscored)
        ]
        return {**result.scores, **{name: ends[name][0] for name in failed}}

    as_wrong = [result.model_copy(update={"scores": scores(result)}) for result in asked]
    return None if [one.scores for one in as_wrong] == [one.scores for one in asked] else as_wrong


def _bounded(results: Sequence[Result], suite: Suite) -> dict[str, Ends]:
    """Return the worst and best score of the columns that have one, and that a case of the run could have."""
    scored = [result for result in results if result.scored]

    def could_be_right(name: str) -> bool:
        return not scored or any(one.scores.get(name) is not None or _judge_failed(one, name) for one in scored)

    return {name: found for name in suite.columns if (found := suite.ends_of(name)) and could_be_right(name)}


def _judge_failed(result: Result, name: str) -> bool:
    return result.unscored.get(name, "").startswith(JUDGE_FAILED)


def count_unscored(scored: Sequence[Result], suite: Suite) -> dict[str, dict[str, int]]:
    """Count the cases that lack a score, by reason; for a failed judge, by kind of failure, as details differ.

    Failures of a plug-in metric in the same line with the same kind of error are grouped under one of their messages.
    """
    found: dict[str, dict[str, int]] = {}
    for name in suite.columns:
        by_kind: dict[tuple[str, ...], list[str]] = {}
        for reason in filter(None, (result.unscored.get(name) for result in scored)):
            failure_kind = ": ".join(reason.split(": ")[:2])
            line = (reason.rpartition(" (")[2],) if reason.startswith(METRIC_FAILED) else ()
            by_kind.setdefault((failure_kind, *line), []).append(reason if line else failure_kind)
        if by_kind:
            found[name] = {min(reasons): len(reasons) for _, reasons in sorted(by_kind.items())}
    return found


def scores_without_judgement(summary: Mapping[str, Any]) -> int:
    """Return how many scores of a run have no value because a judge failed."""
    return sum(
        count
        for reasons in summary["unscored"].values()
        for reason, count in reasons.items()
        if reason.startswith(JUDGE_FAILED)
    )


def _by_stage(results: Sequence[Result], name: Literal["stages", "rounds"]) -> list[tuple[str, list[Any]]]:
    """Group how stages ended, or their numbers of rounds, by stage."""
    found = grouped(
        (stage.split(":")[0], value) for result in results for stage, value in getattr(result, name).items()
    )
    return sorted(found.items())
