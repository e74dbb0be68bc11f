"""Summarise a run: ``summary.json`` and the tables at its end."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cases.text.words import rules_of
from llm.limits import Spent
from llm.specs import OFFLINE, WITHOUT_MODEL
from llm.trace import models_by_role, summed
from scoring.case_scores import AVERAGE, JUDGE_FAILED, METRIC_FAILED, Suite
from scoring.medchain.error_propagation import StagePassage, error_propagation
from scoring.metrics.samples import mean
from scoring.metrics.statistics import FEW_CASES, ColumnEstimates, Ends, Estimate, estimate_columns
from wardround.printing import counted, first_of, printable
from wardround.store.result import LIMIT, Result

FAILED_AS_WRONG = (
    "Failed as wrong: the mean with each case that failed, or whose judge failed, counted as wrong (a lower bound)."
)
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


def repeating_notes(counts: Mapping[str, int], where: str = "") -> list[str]:
    """Say in how many dialogues who repeated one turn to the end, for the reader of scores."""
    return [
        f"In {count} of {counted(counts['dialogues'], 'dialogue')}{where}, the {speaker} repeated one turn to the end."
        for speaker, count in counts.items()
        if speaker != "dialogues"
    ]


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
    asked = [result for result in results if result.termination != "sex_bound"]  # the others were refused
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


def average_notes(suite: Suite, counts: Sequence[Mapping[str, int]]) -> list[str]:
    """Return what the reader of an average must know, given the number of scored cases of each column in each run."""
    scored = [each for each in counts if any(each.values())]
    short, uneven = [], []
    for name, (title, columns) in suite.averages.items():
        kinds = [{each[column] for column in columns} for each in scored]
        if name not in suite.means and any(0 in kind for kind in kinds):
            short.append(title)
        if any(len(kind - {0}) > 1 and (name not in suite.means or 0 not in kind) for kind in kinds):
            uneven.append(title)
    notes = []
    if short:
        notes.append(f"{', '.join(short)}: without the columns that have no scored case.")
    if uneven:
        notes.append(f"{', '.join(uneven)}: the mean of the columns' means, which do not all cover the same cases.")
    if any(not each[name] for each in scored for name in suite.means):
        notes.append("An average has no value where one of its columns has none.")
    return notes


def few_cases_note(titles: Sequence[str], few: int = FEW_CASES) -> str:
    """Warn of scores of which too few cases have a value for the bootstrap, however many cases the run has."""
    too_narrow = f"ith fewer than {few} cases, the 95 % interval is too narrow."
    return f"{first_of(titles)}: w{too_narrow}" if titles else f"W{too_narrow}"


def uncounted_notes(calls: int) -> list[str]:
    """Warn if the servers of so many calls reported no tokens."""
    return [f"No token usage was reported for {counted(calls, 'call')}: tokens and cost are too low."] * (calls > 0)


def used_notes(spent: Spent) -> list[str]:
    """Say what judges used, and of how many answers the price is unknown; nothing if no model was asked."""
    if not spent.calls:
        return []
    cost = "" if not spent.cost else f", {spent.cost:.4f} US dollars"
    unpriced = f"; the price of {counted(spent.unpriced, 'answer')} is unknown" if spent.unpriced else ""
    return [f"Models were asked: {counted(spent.calls, 'call')}, {counted(spent.tokens, 'token')}{cost}{unpriced}."]


def is_usage_known(tokens: float, uncounted: float) -> bool:
    """Whether tokens and cost can be told: a server reported some tokens, or of no call they are missing."""
    return bool(tokens) or not uncounted


def _by_stage(results: Sequence[Result], name: Literal["stages", "rounds"]) -> list[tuple[str, list[Any]]]:
    """Group how stages ended, or their numbers of rounds, by stage."""
    found: dict[str, list[Any]] = {}
    for result in results:
        for stage, value in getattr(result, name).items():
            found.setdefault(stage.split(":")[0], []).append(value)
    return sorted(found.items())


def roles_by_rule(models: Mapping[str, Collection[str]]) -> list[str]:
    """Return the roles that rules played; "in part" if somebody else played them too, at another stage or seat."""
    return [role + " (in part)" * (len(names) > 1) for role, names in models.items() if OFFLINE in names]


def said_by_rules(what: str, who: Iterable[str], where: str = "", languages: Iterable[str] = ()) -> str:
    """State what rules did instead of a model, for whom, and in which of the languages they read little."""
    return f"{what} by offline rules, not by a model{where}: {', '.join(who)}.{unread_by_rules(languages)}"


def unread_by_rules(languages: Iterable[str]) -> str:
    """Return a sentence, after a space, on those of the languages that rules do not read; empty if they read all."""
    unread = [language for language in languages if rules_of(language) != language.partition("-")[0]]
    limit = (
        f" Rules read English and Chinese; in {', '.join(map(repr, unread))} they recognise no denial, side, synonym "
        "or decimal comma, so use no score that they gave there."
    )
    return limit * bool(unread)


def _mean(estimate: dict[str, Any]) -> str:
    return "-" if estimate["mean"] is None else f"{estimate['mean']:.4f}"


def summary_table(summary: dict[str, Any], suite: Suite) -> Group:
    """Return the scores as a table, with notes on what was not scored and which roles ran offline."""
    titles = suite.titles
    table = Table(title="Scores", title_justify="left")
    table.add_column("stage" if suite.averaged else "score")
    bounds = summary.get("failed_as_wrong", {})
    for column in ("mean", "95 % interval", "cases", *(["failed as wrong"] if bounds else [])):
        table.add_column(column, justify="right")
    last = list(suite.published)[-1], AVERAGE
    for name, title in titles.items():
        score = summary["scores"][name]
        interval = "-" if score["ci95"] is None else f"{score['ci95'][0]:.3f} to {score['ci95'][1]:.3f}"
        bound = [_mean(bounds[name]) if name in bounds else ""] if bounds else []
        cells = (_mean(score), interval, str(score["n"]), *bound)
        table.add_row(Text(printable(title)), *cells, end_section=name in last)
    notes = [*suite.explained]
    notes += [FAILED_AS_WRONG] if bounds else []
    attempted, cases = counted(summary["attempted"], "case"), summary.get("cases", summary["attempted"])
    epochs = "" if cases == summary["attempted"] else f" ({counted(cases, 'case')}, each epoch counted)"
    notes.append(f"{attempted} attempted{epochs}: {summary['scored']} scored, {summary['failed']} failed.")
    if 1 < cases < FEW_CASES:
        notes.append(f"With fewer than {FEW_CASES} cases, the 95 % intervals are too narrow; run more cases.")
    elif narrow := summary.get("narrow"):
        notes.append(few_cases_note([titles[name] for name in narrow]))
    if summary["limited"]:
        notes.append(f"{counted(summary['limited'], 'case')} stopped at a limit; the scores use what they had reached.")
    notes += [
        f"{titles[name]}: {count} not scored ({reason})"
        for name, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    notes += average_notes(suite, [{name: score["n"] for name, score in summary["scores"].items()}])
    notes += failure_lines(summary)
    if summary.get("dropped_seats"):
        notes.append(f"Unreadable answers of group members: {summary['dropped_seats']}; the others went on without.")
    if unanswered := summary.get("unanswered"):
        roles = ", ".join(f"{role} {count}" for role, count in unanswered.items())
        notes.append(f"Questions that got no answer in completed cases, which went on without: {roles}.")
    if summary.get("unnamed_results"):
        notes.append(
            f"Results released although no rule finds them named in the order: {summary['unnamed_results']}; "
            "set result_gate = 'strict' to withhold them."
        )
    notes += repeating_notes(summary.get("repeating", {}))
    if offline := roles_by_rule(summary["models"]):
        notes.append(said_by_rules("Answered", offline, languages=summary.get("languages", ())))
    cost = "" if not summary["cost"] else f", {summary['cost']:.4f} US dollars"
    notes.append(f"{counted(summary['calls'], 'call')}, {counted(summary['tokens'], 'token')}{cost}.")
    models_asked = {name for names in summary["models"].values() for name in names} - {*WITHOUT_MODEL}
    if models_asked and summary["scored"] and not summary["tokens"]:
        notes.append("No model reported its token usage, so limits on tokens and cost were not enforced.")
    else:
        notes += uncounted_notes(summary.get("uncounted", 0))
    return Group(table, *(Text(printable(note)) for note in notes))


def failure_lines(summary: dict[str, Any]) -> list[str]:
    """Return the most frequent reasons for which cases failed or were stopped, one line each."""
    lines = [
        f"{each['cases']} {'stopped' if each['termination'].endswith(LIMIT) else 'failed'}: {each['termination']}"
        + (f": {each['reason']}" if each["reason"] else "")
        for each in summary.get("failures", [])
    ]
    not_completed = sum(count for reason, count in summary["terminations"].items() if reason != "completed")
    others = not_completed - sum(each["cases"] for each in summary.get("failures", []))
    return [*lines, f"{others} more for other reasons"] if others else lines
