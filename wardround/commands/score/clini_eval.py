"""``wardround score clini-eval``: score how well the physician of a dialogue interviews, in 100 points."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cases import Problem
from cases.dialogue_files import is_place, read_dialogues
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from scoring.asking import ask_each
from scoring.clini_eval.demonstration import why_not
from scoring.clini_eval.dialogue import ReconstructionAnswers, dialogue_of_consultation
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
)
from scoring.consultation import ConsultationAnswers
from scoring.metrics.samples import mean
from scoring.metrics.statistics import Estimate
from wardround.analysis.notes import unread_by_rules
from wardround.commands.exit_codes import refuse
from wardround.commands.options import a_file
from wardround.commands.score.compared import cell
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, refuse_records
from wardround.commands.score.transcripts import checked_models, counts
from wardround.config.command_line import parse_models
from wardround.config.experiment import GIVES
from wardround.printing import counted, echo, first_of
from wardround.run.own_loop import run_alone
from wardround.store.provenance import write_json_lines
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.tables.scores import failed_notes

Sources = Annotated[
    list[Path],
    typer.Argument(metavar="DIALOGS", help="JSON-lines files of dialogues with their notes, or run directories."),
]


class Factor(StrEnum):
    """What the means may be grouped by."""

    DEPARTMENT = "department"
    STRATEGY = "strategy"


_ASKS = re.compile("[?？吗呢]")
_GAINS = ("Medical History", "Interview Techniques", TOTAL)


def clini_eval(
    sources: Sources,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="[ROLE=]SPEC",
            help="Model that judges, for all roles or for one (offline rules if not given); may be repeated.",
        ),
    ] = None,
    mode: ModeOption = "sound",
    by: Annotated[
        list[Factor] | None,
        typer.Option("--by", help="Also print means by department or strategy; give both for each combination."),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="STRATEGY",
            help="With --by strategy: also print the gain over this strategy on common notes, in percent.",
        ),
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option(
            "--details",
            metavar="FILE",
            help="Write the points, assessment and summary of each dialogue to this file, as JSON lines.",
            callback=a_file,
        ),
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
    dialogues = _read(sources, list(runs.values()))
    if over is not None and not any(over == _group_of(dialogue, Factor.STRATEGY) for dialogue in dialogues):
        refuse(f"--over {over}: no dialogue of this strategy in the sources")

    async def score(index: int) -> CliniEvalScores:
        overrides: dict[str, Any] = {} if mode == "sound" else {"diseases": [], "inferred": ""}
        return await score_clini_eval(dialogues[index].model_copy(update=overrides), settings)

    asked = run_alone(ask_each, range(len(dialogues)), score)
    judged = dict(asked.answers)
    scores = [judged.get(index) for index in range(len(dialogues))]
    failures = [f"Dialogue {dialogues[index].id}: not judged: {reason}" for index, reason in asked.failures]
    if details is not None:
        scored = zip(dialogues, scores, strict=True)
        write_json_lines(
            details,
            [{"id": dialogue.id, "total": one.total, **one.model_dump(mode="json")} for dialogue, one in scored if one],
        )
    metrics = estimates_of(dialogues, scores)
    factors = list(dict.fromkeys(by or []))
    groups = _groups(factors, dialogues, scores, over) if factors else []
    tables = [*_assessed_table(scores), *([_means_by(factors, groups)] if factors else [])]
    notes = failed_notes(runs.values())
    notes += [f"Left out: {counted(len(failures), 'dialogue')} that could not be judged."] * bool(failures)
    notes += [*_not_assessed(dialogues, scores), *failures]
    if over is not None and (missing := [name for name in _GAINS if not any(name in one["gains"] for one in groups)]):
        notes.append(f"No gain over {over} in {', '.join(missing)}: not assessed, or the mean of {over} is 0.")
    n, more = counts([dialogue.id for dialogue in dialogues])
    return Scores("clini-eval", mode, n, metrics, tables, notes, failed=bool(failures), more=more, groups=groups)


def _read(sources: Sequence[Path], runs: Sequence[RecordedRun]) -> list[Dialogue]:
    """Read the dialogues; exits if a line cannot be used or has nothing to score."""
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    of_files: list[Dialogue] = []  # a run's settings may change the note of a case
    places: dict[str, dict[str, str]] = {}  # the names of dialogues without ids, by place and note
    for source in sources:
        if source.is_dir():
            read = _read_runs(source, runs)
            lacking = [why_not(one) for one in read]
        else:
            read, faults = read_dialogues(source)
            read = [_called_apart(one, source, places) for one in read]
            lacking = [why_not(one) or _silent(one) for one in read]
            problems += faults
            of_files += read
            if exchanged := _perhaps_exchanged(read):
                echo(f"warning: {source}: {exchanged}", err=True)
        found = zip(read, lacking, strict=True)
        problems += [Problem(str(source), f"dialogue {one.id}", "", why) for one, why in found if why]
        dialogues += read
    if several := _of_several_notes(of_files):
        echo(f"warning: {several}", err=True)
    refuse_records(problems)
    return _with_departments(dialogues)


def _called_apart(dialogue: Dialogue, source: Path, called: dict[str, dict[str, str]]) -> Dialogue:
    """Return a dialogue without an id under its file's name, if another note has its place in an earlier file.

    Args:
        dialogue: any dialogue.
        source: its file.
        called: extended by the name of each place and note.
    """
    if not is_place(dialogue.id):
        return dialogue
    by_note = called.setdefault(dialogue.id, {})
    name = f"{source.name}, {dialogue.id}" if by_note else dialogue.id
    return dialogue.model_copy(update={"id": by_note.setdefault(dialogue.note, name)})


def _silent(dialogue: Dialogue) -> str:
    """Return that nobody speaks as the patient, as if all turns had one role; empty if somebody does."""
    spoke = any(one.role == PATIENT and one.content.strip() for one in dialogue.messages)
    return "" if spoke else f"has no turn of the patient (role '{PATIENT}')"


def _of_several_notes(dialogues: Sequence[Dialogue]) -> str:
    """Return the warning that an id belongs to several notes of the files, which count as one case; empty if none."""
    notes: dict[str, set[str]] = {}
    for one in dialogues:
        notes.setdefault(one.id, set()).add(" ".join(one.note.split()))
    several = [name for name, found in notes.items() if len(found) > 1]
    return (
        f"several notes have the same id ({first_of(several)}): their dialogues count as one case per id; "
        "give each note an id of its own"
        if several
        else ""
    )


def _perhaps_exchanged(dialogues: Sequence[Dialogue]) -> str:
    """Return the warning that the patient of a file asks more often than its physician; empty if not so."""
    asking_turns = Counter(one.role for each in dialogues for one in each.spoken if _ASKS.search(one.content))
    physician, patient = asking_turns[PHYSICIAN], asking_turns[PATIENT]
    return (
        f"the patient (role '{PATIENT}') asks in {patient} turns, the physician (role '{PHYSICIAN}') in {physician}; "
        "if the file has the roles the other way round, exchange them"
        if patient > physician
        else ""
    )


def _with_departments(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Give a dialogue without a department, as role-plays are, that of another one of its note."""
    departments = {dialogue.note: dialogue.department for dialogue in dialogues if dialogue.department}
    return [one.model_copy(update={"department": one.department or departments.get(one.note)}) for one in dialogues]


def _read_runs(directory: Path, runs: Sequence[RecordedRun]) -> list[Dialogue]:
    """Return the dialogues of the runs in the directory of a run or a sweep, with each run as a strategy."""
    found: list[Dialogue] = []
    for run in (run for run in runs if directory in (run.path, run.path.parent)):
        if not {"dialogue"} <= GIVES[run.experiment.graph]:
            refuse(f"{run.path}: graph {run.experiment.graph!r} produces no dialogue to score")
        for result in run.each_answered():
            answers = result.answers
            if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
                dialogue = answers.reconstructed
            elif isinstance(answers, ConsultationAnswers) and answers.dialogue:
                dialogue = dialogue_of_consultation(run.case_of(*result.key), {"dialogue": answers.dialogue})
            else:
                continue
            found.append(dialogue.model_copy(update={"strategy": run.name}))
    if not found:
        refuse(f"{directory}: has no dialogue yet; run it first")
    return found


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

    With ``over``, also ``gains``, in percent over that strategy's dialogues with the same other factor, on the notes
    that were judged in both (all, if the two share none), so that a dialogue that failed shifts no gain.
    """
    judged: dict[tuple[str, ...], list[int]] = {}
    for index, dialogue in enumerate(dialogues):
        found = judged.setdefault(tuple(_group_of(dialogue, name) for name in by), [])
        found += [index] * (scores[index] is not None)

    def estimates(indices: Sequence[int]) -> dict[str, Estimate]:
        return estimates_of([dialogues[index] for index in indices], [scores[index] for index in indices])

    def on_common_notes(group: Sequence[int], base: Sequence[int]) -> list[Sequence[int]]:
        ours, theirs = ({dialogues[index].note for index in indices} for indices in (group, base))
        common = ours & theirs or ours | theirs
        return [[index for index in indices if dialogues[index].note in common] for indices in (group, base)]

    groups: list[dict[str, Any]] = []
    for levels, indices in sorted(judged.items()):
        factors: dict[str, str] = dict(zip(map(str, by), levels, strict=True))
        groups.append({**factors, "n": len(indices), "metrics": estimates(indices)})
        if over is not None:
            base = judged.get(tuple((factors | {"strategy": over}).values()), [])
            ours, theirs = map(estimates, on_common_notes(indices, base))
            gains = {name: _gain(_mean(ours, name), _mean(theirs, name)) for name in (*_GAINS, ASSESSED)}
            groups[-1]["gains"] = {name: gain for name, gain in gains.items() if gain is not None}
    return groups


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


def _gain(value: float | None, base: float | None) -> float | None:
    """Return the difference to a base in percent of it; None if there is none."""
    return None if value is None or not base else 100 * (value / base - 1)
