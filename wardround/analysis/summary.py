"""What a run amounts to: ``summary.json`` and the tables at its end."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from llm.specs import WITHOUT_MODEL
from scoring.case_scores import AVERAGE, JUDGE_FAILED, METRIC_FAILED, Suite
from scoring.medchain.error_propagation import error_propagation
from scoring.metrics.statistics import ColumnEstimates, Estimate, estimate_columns
from wardround.commands.printing import counted, printable
from wardround.store.run_directory import LIMIT, Result

WHAT_FAILED = "the mean if each case that failed, or that a judge failed on, counts as wrong: a lower bound"
_FEW = 5  # cases, below which an interval holds the truth less often than it says (docs/statistics.md)
_REASONS = 5  # that a summary names
_REASON = 400  # characters of one: the remedy and the model stand at its end
_PLACE = re.compile(r" at \S[^,]*, model (?=\S+$)")  # where a question was asked; the model stays
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


def summarise_results(results: Sequence[Result], suite: Suite) -> dict[str, Any]:
    """The summary of a run; it depends on the results alone, not on their order.

    ``attempted = scored + failed``, each of the ``cases`` once an epoch. A score counts the cases that have a
    reference for it; ``unscored`` says how many have none, and why. Cases that were stopped at a limit are scored with
    what they had, and counted as ``limited``.
    """
    ordered = sorted(results, key=lambda result: result.key)
    scored = [result for result in ordered if result.scored]
    found = estimate_scores(scored, suite)
    ids = [result.case_id for result in scored]
    passages = error_propagation([result.scores for result in scored], suite.stages, cases=ids)
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
        "unnamed_results": sum(result.unnamed_results for result in ordered),
        "scores": {name: one.model_dump(mode="json") for name, one in found.items()},
        "intervals": {name: one.interval for name, one in found.items()},
        "failed_as_wrong": {name: one.model_dump(mode="json") for name, one in failed_as_wrong(ordered, suite).items()},
        "unscored": count_unscored(scored, suite),
        "error_propagation": [passage.model_dump(mode="json") for passage in passages],
        "stages": _stage_ends(scored),
        "rounds": _round_means(scored),
        "calls": sum(result.calls for result in ordered),
        "tokens": sum(result.tokens for result in ordered),
        "cost": summed(result.cost for result in ordered),
        "seconds": sum(result.seconds for result in ordered),
        "models": models_of(ordered),
    }


def summed(costs: Iterable[float | None]) -> float | None:
    """What all cost; None as soon as one is not known."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)


def most_frequent_failures(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Why cases failed or were stopped, the most frequent reason first, in the words of one of them.

    Reasons that differ in numbers, in what they quote and in the place of the call are one.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.termination != "completed":
            said = _PLACE.sub(" with ", result.error or "")
            groups.setdefault((result.termination, _VARYING.sub("", said)), []).append(said[:_REASON])
    most = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        {"termination": termination, "cases": len(said), "reason": said[0]}
        for (termination, _), said in most[:_REASONS]
    ]


def models_of(results: Iterable[Result]) -> dict[str, list[str]]:
    """The models that really answered, by role."""
    found: dict[str, set[str]] = {}
    for result in results:
        for role, names in result.models.items():
            found.setdefault(role, set()).update(names)
    return {role: sorted(names) for role, names in sorted(found.items())}


def estimate_scores(scored: Sequence[Result], suite: Suite) -> dict[str, Estimate]:
    """The mean of every score over the cases that have it; ``average`` is the unweighted mean of these means.

    That is how MedChain's published column is made (Table 2: 0.5269 for MedChain-Agent). Epochs of a case are one
    case to the intervals. What others added is estimated apart, so that the published columns never move by it.
    """
    cases = [result.case_id for result in scored]

    def over(names: Iterable[str]) -> ColumnEstimates:
        columns = {name: [result.scores.get(name) for result in scored] for name in names}
        return estimate_columns(columns, cases, {name: suite.ends_of(name) for name in columns})

    published = over(suite.published)
    found = {**published.columns, **{name: over([name]).columns[name] for name in suite.metrics}}
    for name, (_, columns) in suite.averages.items():
        complete = name not in suite.means or all(found[column].n for column in columns)
        some = published if name == AVERAGE else over(columns)
        found[name] = some.average if complete else Estimate(n=0)
    return {name: found[name] for name in suite.titles}


def failed_as_wrong(results: Sequence[Result], suite: Suite) -> dict[str, Estimate]:
    """The means if every case that failed, and every answer that a judge failed on, counts as wrong.

    The lower bound to the means over what was scored: who fails where it would be wrong gains nothing by it. Columns
    without a worst score (lengths, metrics of one's own) have none, and no case counts in a column that its key has
    nothing for, or that none of the run's has. Nothing if nothing failed.
    """
    results = [result for result in results if result.termination != "sex_bound"]  # refused, and put before nobody
    scored = [result for result in results if result.scored]

    def judge_failed(result: Result, name: str) -> bool:
        return result.unscored.get(name, "").startswith(JUDGE_FAILED)

    def could_be_right(name: str) -> bool:
        return not scored or any(one.scores.get(name) is not None or judge_failed(one, name) for one in scored)

    ends = {name: found for name in suite.columns if (found := suite.ends_of(name)) and could_be_right(name)}

    def score(result: Result, name: str) -> float | None:
        failed = judge_failed(result, name) or not (result.scored or name in result.unscored)
        return ends[name][0] if failed else result.scores.get(name)

    columns = {name: [score(result, name) for result in results] for name in ends}
    if columns == {name: [result.scores.get(name) for result in results] for name in ends}:
        return {}
    bounds = estimate_columns(columns, [result.case_id for result in results], ends)
    return {**bounds.columns, **({AVERAGE: bounds.average} if AVERAGE in suite.averages else {})}


def count_unscored(scored: Sequence[Result], suite: Suite) -> dict[str, dict[str, int]]:
    """How many cases lack a score, by reason; of a judge that failed, the kind of failure: the details differ.

    Of a metric of somebody's own that fails in one line by one kind of error, one of the messages stands for all.
    """
    found: dict[str, dict[str, int]] = {}
    for name in suite.columns:
        alike: dict[tuple[str, ...], list[str]] = {}
        for reason in filter(None, (result.unscored.get(name) for result in scored)):
            kind = ": ".join(reason.split(": ")[:2])
            own = (reason.rpartition(" (")[2],) if reason.startswith(METRIC_FAILED) else ()
            alike.setdefault((kind, *own), []).append(reason if own else kind)
        if alike:
            found[name] = {min(reasons): len(reasons) for _, reasons in sorted(alike.items())}
    return found


def _stage_ends(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """How often each stage ended agreed, exhausted or not judged."""
    ends: dict[str, Counter[str]] = {}
    for result in results:
        for stage, ended in result.stages.items():
            ends.setdefault(stage.split(":")[0], Counter())[ended] += 1
    return {stage: dict(sorted(counts.items())) for stage, counts in sorted(ends.items())}


def _round_means(results: Sequence[Result]) -> dict[str, float]:
    """The mean number of rounds (decisions of a stage, turns of a dialogue, revisions of a discussion)."""
    rounds: dict[str, list[int]] = {}
    for result in results:
        for stage, count in result.rounds.items():
            rounds.setdefault(stage.split(":")[0], []).append(count)
    return {stage: sum(counts) / len(counts) for stage, counts in sorted(rounds.items())}


def _mean(estimate: dict[str, Any]) -> str:
    return "-" if estimate["mean"] is None else f"{estimate['mean']:.4f}"


def summary_table(summary: dict[str, Any], suite: Suite) -> Group:
    """The scores as a table, with what was not scored, and which roles ran offline."""
    titles = suite.titles
    table = Table(title="Scores", title_justify="left")
    table.add_column("stage" if suite.averaged else "score")
    bounds = summary.get("failed_as_wrong", {})
    for column in ("mean", "95 % interval", "cases", *(["failed as wrong"] if bounds else [])):
        table.add_column(column, justify="right")
    last = list(suite.published)[-1], AVERAGE
    for name, title in titles.items():
        score = summary["scores"][name]
        mean = _mean(score)
        interval = "-" if score["ci95"] is None else f"{score['ci95'][0]:.3f} to {score['ci95'][1]:.3f}"
        bound = [_mean(bounds[name]) if name in bounds else ""] if bounds else []
        table.add_row(Text(printable(title)), mean, interval, str(score["n"]), *bound, end_section=name in last)
    notes = [suite.notes] if suite.notes else []
    notes += [f"Failed as wrong: {WHAT_FAILED}."] if bounds else []
    attempted, cases = counted(summary["attempted"], "case"), summary.get("cases", summary["attempted"])
    epochs = "" if cases == summary["attempted"] else f" ({counted(cases, 'case')} in epochs; each epoch counts)"
    notes.append(f"{attempted} attempted{epochs}: {summary['scored']} scored, {summary['failed']} failed.")
    if 1 < cases < _FEW:
        notes.append(f"With fewer than {_FEW} cases a 95 % interval is too narrow; run more.")
    if summary["limited"]:
        notes.append(f"{counted(summary['limited'], 'case')} stopped at a limit and scored with what there was.")
    notes += [
        f"{titles[name]}: {count} not scored ({reason})"
        for name, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    notes += failure_lines(summary)
    if summary.get("dropped_seats"):
        notes.append(f"{summary['dropped_seats']} answers of group members could not be read; the others went on.")
    if summary.get("unnamed_results"):
        notes.append(
            f"Results told that no rule finds named in the order: {summary['unnamed_results']}; "
            "result_gate = 'strict' holds them back."
        )
    offline = [role for role, names in summary["models"].items() if "offline" in names]
    if offline:
        notes.append(f"Answered by offline rules, not by a model: {', '.join(offline)}.")
    cost = "" if not summary["cost"] else f", {summary['cost']:.4f} US dollars"
    notes.append(f"{summary['calls']:,} calls, {summary['tokens']:,} tokens{cost}.")
    asked = {name for names in summary["models"].values() for name in names} - {*WITHOUT_MODEL}
    if asked and summary["scored"] and not summary["tokens"]:
        notes.append("No model tells how many tokens it took: limits of tokens and cost do not hold.")
    return Group(table, *(Text(printable(note)) for note in notes))


def failure_lines(summary: dict[str, Any]) -> list[str]:
    """The most frequent reasons for which cases failed or were stopped, a line each."""
    lines = [
        f"{each['cases']} {'stopped' if each['termination'].endswith(LIMIT) else 'failed'}: {each['termination']}"
        + (f": {each['reason']}" if each["reason"] else "")
        for each in summary.get("failures", [])
    ]
    ended = sum(count for reason, count in summary["terminations"].items() if reason != "completed")
    others = ended - sum(each["cases"] for each in summary.get("failures", []))
    return [*lines, f"{others} more for other reasons"] if others else lines
