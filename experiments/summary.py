"""What a run amounts to: ``summary.json`` and the tables at its end."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evaluation.error_propagation import error_propagation
from evaluation.stages import STAGE_NAMES, StageScores, count_unscored, summarise
from experiments.run_directory import Result

TITLES = {
    "referral_level1": "Referral, level 1",
    "referral_level2": "Referral, level 2",
    "history_taking": "History-taking",
    "examination": "Examination",
    "diagnosis": "Diagnosis",
    "treatment": "Treatment",
    "average": "Average",
}


def summarise_results(results: Sequence[Result]) -> dict[str, Any]:
    """The summary of a run; it depends on the results alone, not on their order.

    ``attempted = scored + failed``. A score counts the cases that have a reference for it; ``unscored`` says how many
    have none, and why.
    """
    ordered = sorted(results, key=lambda result: (result.case_id, result.epoch))
    scored = [result for result in ordered if result.scored]
    scores = [_stage_scores(result) for result in scored]
    cases = [result.case_id for result in scored]
    costs = [result.cost for result in ordered]
    models: dict[str, set[str]] = {}
    for result in ordered:
        for role, names in result.models.items():
            models.setdefault(role, set()).update(names)
    return {
        "attempted": len(ordered),
        "scored": len(scored),
        "failed": len(ordered) - len(scored),
        "terminations": dict(sorted(Counter(result.termination for result in ordered).items())),
        "scores": {name: estimate.model_dump(mode="json") for name, estimate in summarise(scores, cases).items()},
        "unscored": count_unscored(scores),
        "error_propagation": [passage.model_dump(mode="json") for passage in error_propagation(scores, cases=cases)],
        "stages": _stage_ends(scored),
        "calls": sum(result.calls for result in ordered),
        "tokens": sum(result.tokens for result in ordered),
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
        "seconds": sum(result.seconds for result in ordered),
        "models": {role: sorted(names) for role, names in sorted(models.items())},
    }


def _stage_scores(result: Result) -> StageScores:
    """The scores of a case; of a judge that failed, the kind of failure, as the details differ from case to case."""
    reasons = {stage: ": ".join(reason.split(": ")[:2]) for stage, reason in result.unscored.items()}
    return StageScores.model_validate({**result.scores, "unscored": reasons})


def _stage_ends(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """How often each stage ended agreed, exhausted or not judged."""
    ends: dict[str, Counter[str]] = {}
    for result in results:
        for stage, ended in result.stages.items():
            ends.setdefault(stage.split(":")[0], Counter())[ended] += 1
    return {stage: dict(sorted(counts.items())) for stage, counts in sorted(ends.items())}


def summary_table(summary: dict[str, Any]) -> Group:
    """The stage scores as a table, with what was not scored, and which roles ran offline."""
    table = Table(title="Scores, with 95 % bootstrap intervals", title_justify="left")
    table.add_column("stage")
    for column in ("mean", "95 % interval", "cases"):
        table.add_column(column, justify="right")
    for name, title in TITLES.items():
        score = summary["scores"][name]
        mean = "-" if score["mean"] is None else f"{score['mean']:.4f}"
        interval = "-" if score["ci95"] is None else f"{score['ci95'][0]:.3f} to {score['ci95'][1]:.3f}"
        table.add_row(title, mean, interval, str(score["n"]), end_section=name == STAGE_NAMES[-1])
    notes = [f"{summary['attempted']} cases attempted: {summary['scored']} scored, {summary['failed']} failed."]
    notes += [
        f"{TITLES[stage]}: {count} not scored ({reason})"
        for stage, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    notes += [f"{count} failed: {reason}" for reason, count in summary["terminations"].items() if reason != "completed"]
    offline = [role for role, names in summary["models"].items() if "offline" in names]
    if offline:
        notes.append(f"Answered by offline rules, not by a model: {', '.join(offline)}.")
    cost = "" if not summary["cost"] else f", {summary['cost']:.4f} US dollars"
    notes.append(f"{summary['calls']} calls, {summary['tokens']} tokens{cost}.")
    return Group(table, *(Text(note) for note in notes))


def case_scores(results: Sequence[Result]) -> dict[str, dict[str, list[float]]]:
    """Every score of every case over its epochs, by name; ``average`` is the mean of a case's own columns."""
    scores: dict[str, dict[str, list[float]]] = {name: {} for name in TITLES}
    for result in sorted(results, key=lambda result: (result.case_id, result.epoch)):
        known = {name: value for name, value in result.scores.items() if value is not None}
        if known:
            known["average"] = sum(known.values()) / len(known)
        for name, value in known.items():
            scores[name].setdefault(result.case_id, []).append(value)
    return scores
