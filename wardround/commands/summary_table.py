"""The table at the end of a run, as the terminal shows it."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from scoring.case_scores import AVERAGE, Suite
from scoring.metrics.statistics import FEW_CASES
from wardround.analysis.notes import (
    FAILED_AS_WRONG,
    average_notes,
    failure_lines,
    few_cases_note,
    is_usage_known,
    repeating_notes,
    roles_by_rule,
    said_by_rules,
    uncounted_notes,
    usage,
)
from wardround.printing import counted, printable


def summary_table(summary: dict[str, Any], suite: Suite) -> Group:
    """Return the scores as a table, with notes on what was not scored and which roles ran offline."""
    means = summary["scores"]
    # Columns that stand for another one which no case lacks say what it says (see `Suite.stands_in`).
    spare = {name for name, other in suite.stands_in.items() if means[name]["n"] <= means[other]["n"]}
    titles = {name: title for name, title in suite.titles.items() if name not in spare}
    table = Table(title="Scores", title_justify="left")
    table.add_column("stage" if suite.averaged else "score")
    bounds = summary.get("failed_as_wrong", {})
    for column in ("mean", "95 % interval", "cases", *(["failed as wrong"] if bounds else [])):
        table.add_column(column, justify="right")
    last = list(suite.published)[-1], AVERAGE
    for name, title in titles.items():
        score = means[name]
        interval = "-" if score["ci95"] is None else f"{score['ci95'][0]:.3f} to {score['ci95'][1]:.3f}"
        bound = [_mean(bounds[name]) if name in bounds else ""] if bounds else []
        cells = (_mean(score), interval, str(score["n"]), *bound)
        table.add_row(Text(printable(title)), *cells, end_section=name in last)
    notes = _notes(summary, suite, titles)
    return Group(table, *(Text(printable(note)) for note in notes))


def _notes(summary: dict[str, Any], suite: Suite, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield what a reader of the table must know; ``titles`` are those of the rows shown."""
    yield from suite.explained
    if summary.get("failed_as_wrong"):
        yield FAILED_AS_WRONG
    attempted, cases = counted(summary["attempted"], "case"), summary.get("cases", summary["attempted"])
    epochs = "" if cases == summary["attempted"] else f" ({counted(cases, 'case')}, each epoch counted)"
    yield f"{attempted} attempted{epochs}: {summary['scored']} scored, {summary['failed']} failed."
    if 1 < cases < FEW_CASES:
        yield f"With fewer than {FEW_CASES} cases, the 95 % intervals are too narrow; run more cases."
    elif narrow := [titles[name] for name in summary.get("narrow", ()) if name in titles]:
        yield few_cases_note(narrow)
    if summary["limited"]:
        yield f"{counted(summary['limited'], 'case')} stopped at a limit; the scores use what they had reached."
    for name, reasons in summary["unscored"].items():
        if name in titles:
            yield from (f"{titles[name]}: {count} not scored ({reason})" for reason, count in reasons.items())
    yield from average_notes(suite, [{name: score["n"] for name, score in summary["scores"].items()}])
    yield from failure_lines(summary)
    if dropped := summary.get("dropped_seats"):
        yield f"Unreadable answers of group members: {dropped}; their groups decided without them."
    if unanswered := summary.get("unanswered"):
        roles = ", ".join(f"{role} {count}" for role, count in unanswered.items())
        yield f"Questions that got no answer in completed cases, which went on without: {roles}."
    if summary.get("unnamed_results"):
        yield (
            f"Results released although no rule finds them named in the order: {summary['unnamed_results']}; "
            "set result_gate = 'strict' to withhold them."
        )
    yield from repeating_notes(summary.get("repeating", {}))
    if offline := roles_by_rule(summary["models"]):
        yield said_by_rules("Answered", offline, languages=summary.get("languages", ()))
    yield f"{usage(summary['calls'], summary['tokens'], summary['cost'])}."
    uncounted = summary.get("uncounted", 0)
    if is_usage_known(summary["tokens"], uncounted):
        yield from uncounted_notes(uncounted)
    else:
        yield "No model reported its token usage, so limits on tokens and cost were not enforced."


def _mean(estimate: dict[str, Any]) -> str:
    return "-" if estimate["mean"] is None else f"{estimate['mean']:.4f}"
