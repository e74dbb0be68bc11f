"""Notes for the reader of scores: what they leave out, what rules did, and what is too few."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cases.text.words import rules_of
from llm.limits import Spent
from llm.specs import OFFLINE
from scoring.case_scores import Suite
from scoring.metrics.statistics import FEW_CASES
from wardround.printing import counted, first_of
from wardround.store.result import LIMIT

FAILED_AS_WRONG = (
    "Failed as wrong: the mean with each case that failed, or whose judge failed, counted as wrong (a lower bound)."
)


def repeating_notes(counts: Mapping[str, int], where: str = "") -> list[str]:
    """Say in how many dialogues who repeated one turn to the end, for the reader of scores."""
    return [
        f"In {count} of {counted(counts['dialogues'], 'dialogue')}{where}, the {speaker} repeated one turn to the end."
        for speaker, count in counts.items()
        if speaker != "dialogues"
    ]


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
    if not spent.tokens:
        return [f"Models were asked: {counted(spent.calls, 'call')}; no token usage was reported."]
    unpriced = f"; the price of {counted(spent.unpriced, 'answer')} is unknown" if spent.unpriced else ""
    return [f"Models were asked: {usage(spent.calls, spent.tokens, spent.cost)}{unpriced}."]


def usage(calls: int, tokens: int, cost: float | None) -> str:
    """Put calls, tokens and US dollars into words; without a cost that is zero or unknown (None)."""
    dollars = f", {cost:.4f} US dollars" if cost else ""
    return f"{counted(calls, 'call')}, {counted(tokens, 'token')}{dollars}"


def used(spent: Spent) -> dict[str, float | None]:
    """Return the calls, tokens and US dollars that judges used; None for what no server told or has no known price."""
    cost = None if spent.unpriced or not spent.tokens else spent.cost
    return {"calls": spent.calls, "tokens": spent.tokens or None, "cost": cost}


def is_usage_known(tokens: float, uncounted: float) -> bool:
    """Whether tokens and cost can be told: a server reported some tokens, or of no call they are missing."""
    return bool(tokens) or not uncounted


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
