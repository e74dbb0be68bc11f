"""``wardround score clini-eval``: score how well the physician of a dialogue interviews, in 100 points."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator
from typer import Argument, Option

from cases.dialogues import Dialogue
from cases.grouping import grouped
from cases.validation import nearest
from scoring.asking import ask_each
from scoring.clini_eval.instructor import score_clini_eval
from scoring.clini_eval.points import (
    ASSESSABLE,
    ASSESSED,
    LEAVES,
    MAINS,
    STATISTICS,
    TOTAL,
    CliniEvalScores,
    estimates_of,
    failed_as_wrong,
)
from scoring.metrics.comparison import gain_in_percent
from scoring.metrics.samples import mean, of_epoch
from scoring.metrics.statistics import Estimate
from wardround.analysis.notes import unread_by_rules
from wardround.commands.exit_codes import refuse
from wardround.commands.options import a_file
from wardround.commands.score.compared import cell
from wardround.commands.score.interviews import read_interviews
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, as_wrong_table
from wardround.commands.score.transcripts import checked_models, counts, failed_results
from wardround.config.command_line import parse_models
from wardround.printing import counted
from wardround.run.own_loop import run_alone
from wardround.store.provenance import write_json_lines
from wardround.store.recorded_run import find_runs
from wardround.tables.scores import failed_notes

Sources = Annotated[
    list[Path], Argument(metavar="DIALOGS", help="JSON-lines files of dialogues with their notes, or run directories.")
]


class Factor(StrEnum):
    """What the means may be grouped by."""

    DEPARTMENT = "department"
    STRATEGY = "strategy"


_GAINS = ("Medical History", "Interview Techniques", TOTAL)


def clini_eval(
    sources: Sources,
    judge: Annotated[
        list[str] | None,
        Option(
            metavar="[ROLE=]SPEC",
            help="Model that judges, for all roles or for one (offline rules if not given); may be repeated.",
        ),
    ] = None,
    mode: ModeOption = "sound",
    by: Annotated[
        list[Factor] | None, Option(help="Also print means by department or strategy; give both for each combination.")
    ] = None,
    over: Annotated[
        str | None,
        Option(
            metavar="STRATEGY",
            help="With --by strategy: also print the gain over this strategy on common notes, in percent.",
        ),
    ] = None,
    details: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write the points, assessment and summary of each dialogue to this file, as JSON lines.",
        ),
        AfterValidator(a_file),
    ] = None,
) -> Scores:
    """Score interviews by Clini-Eval (CliniChat).

    Clini-Eval has 34 numbers (leaves) and their sums (tables 2 to 4). For a run, no doctor is called again. In sound
    mode the judge is told the diseases that the file names; in paper mode it infers the diagnosis from the note alone.
    Offline, rules count the leaves that can be counted; the others, and the sums that include them, are missing.
    """
    if over is not None and "strategy" not in (by or []):
        refuse(f"--over {over}: compares strategies; add --by strategy")
    settings = checked_models(parse_models(judge or ["offline"]))
    runs = {run.path: run for run in find_runs([source for source in sources if source.is_dir()])}
    dialogues = read_interviews(sources, list(runs.values()))
    strategies = {_group_of(dialogue, Factor.STRATEGY) for dialogue in dialogues}
    if over is not None and over not in strategies:
        refuse(f"--over {over}: no dialogue of this strategy in the sources; {nearest(over, strategies)}")

    async def score(index: int) -> CliniEvalScores:
        overrides: dict[str, Any] = {} if mode == "sound" else {"diseases": [], "inferred": ""}
        return await score_clini_eval(dialogues[index].model_copy(update=overrides), settings)

    asked = run_alone(ask_each, range(len(dialogues)), score)
    judged = dict(asked.answers)
    scores = [judged.get(index) for index in range(len(dialogues))]
    failures = [f"Dialogue {dialogues[index].id}: not judged: {reason}" for index, reason in asked.failures]

    def write() -> None:
        if details is not None:
            scored = [(dialogue.id, one) for dialogue, one in zip(dialogues, scores, strict=True) if one]
            lines = [{"id": name, "total": one.total, **one.model_dump(mode="json")} for name, one in scored]
            write_json_lines(details, lines)

    metrics = estimates_of(dialogues, scores)
    factors = list(dict.fromkeys(by or []))
    groups = _groups(factors, dialogues, scores, over) if factors else []
    lost = [of_epoch(*result.key) for run in runs.values() for result in failed_results(run)]
    bounds = failed_as_wrong(dialogues, scores, lost) if mode == "sound" else {}
    tables = [*as_wrong_table(bounds), *_assessed_table(scores), *([_means_by(factors, groups)] if factors else [])]
    notes = failed_notes(runs.values())
    notes += [f"Left out: {counted(len(failures), 'dialogue')} that could not be judged."] * bool(failures)
    notes += [*_not_assessed(dialogues, scores), *failures]
    if over is not None and (missing := [name for name in _GAINS if not any(name in one["gains"] for one in groups)]):
        notes.append(f"No gain over {over} in {', '.join(missing)}: not assessed, or the mean of {over} is 0.")
    n, more = counts([dialogue.id for dialogue in dialogues])
    failed = bool(failures)
    return Scores("clini-eval", mode, n, metrics, tables, notes, failed, more=more, groups=groups, write=write)


def _not_assessed(dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None]) -> Iterator[str]:
    """Yield how many leaves some dialogue lacks, if any."""
    judged = [(one.language, score.unscored) for one, score in zip(dialogues, scores, strict=True) if score]
    if lacking := {key for _, unscored in judged for key in unscored}:
        yield (
            f"{len(lacking)} of 34 leaves were not assessed in some or all dialogues. They are missing, not 0, and so "
            "are the sums that include them. Rules assess only what can be counted: their scores are a baseline, not "
            "for publication."
            f"{unread_by_rules(sorted({language for language, _ in judged}))}"
        )


def _assessed_table(scores: Sequence[CliniEvalScores | None]) -> list[ExtraTable]:
    """If not everything was assessed, tabulate the points reached and the maximum for what was, by main metric."""
    present = [score for score in scores if score is not None]
    if not any(score.unscored for score in present):
        return []
    rows = []
    for name, leaves in {**MAINS, "all": tuple(LEAVES.values())}.items():
        assessed = [[leaf for leaf in leaves if leaf.key in score.leaves] for score in present]
        points = [sum(score.leaves[leaf.key] for leaf in found) for score, found in zip(present, assessed, strict=True)]
        maximum = [sum(leaf.maximum for leaf in found) for found in assessed]
        reached = [cell(mean(points)), cell(mean(maximum))] if any(assessed) else ["not assessed", ""]
        rows.append([name, *reached, f"{sum(leaf.maximum for leaf in leaves):g}"])
    return [ExtraTable("Mean points of what was assessed", ["", "points", "maximum (assessed)", "maximum (all)"], rows)]


def _groups(
    by: Sequence[Factor], dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None], over: str | None
) -> list[dict[str, Any]]:
    """Return each group with its estimates: ``{factor: level, "n", "metrics"}``.

    With ``over``, that strategy comes first, and there are also ``gains``, in percent over its dialogues with the same
    other factor.
    """
    judged: dict[tuple[str, ...], list[int]] = {}
    for index, dialogue in enumerate(dialogues):
        found = judged.setdefault(tuple(_group_of(dialogue, name) for name in by), [])
        found += [index] * (scores[index] is not None)

    def estimates(indices: Sequence[int]) -> dict[str, Estimate]:
        return estimates_of([dialogues[index] for index in indices], [scores[index] for index in indices])

    def by_note(indices: Sequence[int]) -> dict[str, list[CliniEvalScores]]:
        return grouped((dialogues[index].note, found) for index in indices if (found := scores[index]) is not None)

    groups: list[dict[str, Any]] = []
    for levels, indices in sorted(judged.items(), key=lambda one: [(level != over, level) for level in one[0]]):
        factors: dict[str, str] = dict(zip(map(str, by), levels, strict=True))
        groups.append({**factors, "n": len(indices), "metrics": estimates(indices)})
        if over is not None:
            base = judged.get(tuple((factors | {"strategy": over}).values()), [])
            groups[-1]["gains"] = _gains(by_note(indices), by_note(base))
    return groups


def _gains(
    ours: Mapping[str, Sequence[CliniEvalScores]], theirs: Mapping[str, Sequence[CliniEvalScores]]
) -> dict[str, float]:
    """Return our gains in percent by score, on the notes that were judged in both (all, if the two share none).

    The dialogues of a note are averaged first, so that one that failed shifts no gain.
    """
    shared = ours.keys() & theirs.keys()

    def points(judged: Mapping[str, Sequence[CliniEvalScores]], name: str) -> dict[str, list[float]]:
        of_notes = ((note, mean(_points(each, name) for each in found)) for note, found in judged.items())
        return grouped((note if shared else "", value) for note, value in of_notes if value is not None)

    gains = {name: gain_in_percent(points(ours, name), points(theirs, name)) for name in (*_GAINS, ASSESSED)}
    return {name: gain for name, gain in gains.items() if gain is not None}


def _points(scores: CliniEvalScores, name: str) -> float | None:
    """Return a main metric, the total, or the points assessed if some were not."""
    return (scores.assessed if scores.unscored else None) if name == ASSESSED else scores.by_name[name]


def _means_by(by: Sequence[Factor], groups: Sequence[Mapping[str, Any]]) -> ExtraTable:
    """Tabulate the means of each group (CliniChat, Tables 2 and 3); what was not assessed is empty."""
    columns = [*STATISTICS, *MAINS, TOTAL]
    if any(ASSESSED in group["metrics"] for group in groups):
        columns += [ASSESSED, ASSESSABLE]
    rows: list[dict[str, str]] = []
    for group in groups:
        row = {name: str(group[name]) for name in (*by, "n")}
        row |= {name: cell(_mean(group["metrics"], name)) for name in columns}
        gains = group.get("gains", {})
        row |= {f"{name}, gain": f"{gains[name]:+.1f} %" if name in gains else "" for name in (*_GAINS, ASSESSED)}
        rows.append(row)
    shown = dict.fromkeys(name for row in rows for name, text in row.items() if text)
    header = [name for name in rows[0] if name in shown] if rows else []
    title = f"Means by {' and '.join(by)} (n: dialogues judged)"
    return ExtraTable(title, header, [[row[name] for name in header] for row in rows])


def _group_of(dialogue: Dialogue, factor: Factor) -> str:
    return getattr(dialogue, factor) or f"(no {factor})"


def _mean(metrics: Mapping[str, Estimate], name: str) -> float | None:
    return metrics[name].mean if name in metrics else None
