"""``wardround score clini-eval``: how well the physician of a dialogue interviews, in 100 points."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cases import Problem
from cases.dialogues import Dialogue, read_dialogues
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
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, refuse_records
from wardround.commands.score.transcripts import asking, cell
from wardround.config.experiment import GIVES, ConfigurationError
from wardround.config.experiment_file import parse_models
from wardround.store.provenance import write_json_lines
from wardround.store.recorded_run import find_runs

Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIALOGS...", help="Files of dialogues with their notes, a JSON object a line; or directories of runs."
    ),
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
        typer.Option("--judge", metavar="[ROLE=]SPEC", help="The model to ask, offline if not named; or one a role."),
    ] = None,
    mode: ModeOption = "sound",
    by: Annotated[
        list[Factor] | None, typer.Option("--by", help="Also print the means of each; given twice, of each pair.")
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(metavar="STRATEGY", help="With --by strategy: also the gain in percent over this one's mean."),
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option("--details", metavar="FILE", help="Write each dialogue's points, assessment and summary here."),
    ] = None,
) -> Scores:
    """The 34 numbers of Clini-Eval (CliniChat, tables 2 to 4).

    With their sums; of a run, no doctor is asked again. Sound: the judge is told the diseases that the file names.
    Paper: it infers the diagnosis from the note alone. Offline, rules count the leaves that can be counted; the others,
    and with them the sums, are missing.
    """
    if over is not None and "strategy" not in (by or []):
        raise ConfigurationError(f"--over {over}: compares strategies; give --by strategy too")
    settings = asking(parse_models(judge or ["offline"]))
    dialogues = _read(sources)

    async def score(index: int) -> CliniEvalScores:
        overrides: dict[str, Any] = {} if mode == "sound" else {"diseases": [], "inferred": ""}
        return await score_clini_eval(dialogues[index].model_copy(update=overrides), settings)

    asked = anyio.run(ask_each, range(len(dialogues)), score)
    judged = dict(asked.answers)
    scores = [judged.get(index) for index in range(len(dialogues))]
    failures = [f"Dialogue {dialogues[index].id}: no judgement: {reason}" for index, reason in asked.failures]
    if details is not None:
        scored = zip(dialogues, scores, strict=True)
        write_json_lines(
            details,
            [{"id": dialogue.id, "total": one.total, **one.model_dump(mode="json")} for dialogue, one in scored if one],
        )
    metrics = estimates_of(dialogues, scores)
    tables = [*_assessed_table(scores), *([_means_by(list(dict.fromkeys(by)), dialogues, scores, over)] if by else [])]
    notes = _notes(scores, failures)
    if over is not None and (missing := [name for name in _GAINS if f"{name}, gain" not in tables[-1].header]):
        notes.append(f"No gain over {over} in {', '.join(missing)}: not assessed, or 0 there.")
    return Scores("clini-eval", mode, len(dialogues), metrics, tables, notes, failed=bool(failures))


def _read(sources: Sequence[Path]) -> list[Dialogue]:
    """Read the dialogues; exits if a line cannot be used or has nothing to score."""
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    for source in sources:
        read, faults = (_read_runs(source), []) if source.is_dir() else read_dialogues(source)
        checked = [(dialogue, why_not(dialogue)) for dialogue in read]
        problems += [*faults, *(Problem(str(source), f"dialogue {one.id}", "", why) for one, why in checked if why)]
        dialogues += read
    refuse_records(problems)
    return dialogues


def _read_runs(directory: Path) -> list[Dialogue]:
    """Return the dialogues of a run or a sweep, with each run as a strategy."""
    found: list[Dialogue] = []
    for run in find_runs([directory]):
        if not {"dialogue"} <= GIVES[run.experiment.graph]:
            raise ConfigurationError(f"{run.path}: graph {run.experiment.graph!r} leaves no dialogue to score")
        for result in run.each_answered():
            answers = result.answers
            if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
                dialogue = answers.reconstructed
            elif isinstance(answers, ConsultationAnswers) and answers.dialogue:
                dialogue = dialogue_of_consultation(run.cases[result.case_id], {"dialogue": answers.dialogue})
            else:
                continue
            found.append(dialogue.model_copy(update={"strategy": run.name}))
    if not found:
        raise ConfigurationError(f"{directory}: holds no dialogue yet; run it first")
    return found


def _assessed_table(scores: Sequence[CliniEvalScores | None]) -> list[ExtraTable]:
    """If not everything was assessed, tabulate the points reached and the maximum for what was, by main metric."""
    present = [score for score in scores if score is not None]
    if not any(score.unscored for score in present):
        return []
    rows = []
    for name, leaves in {**MAINS, "all": tuple(LEAVES.values())}.items():
        counted = [[leaf for leaf in leaves if leaf.key in score.leaves] for score in present]
        points = [sum(score.leaves[leaf.key] for leaf in found) for score, found in zip(present, counted, strict=True)]
        maximum = [sum(leaf.maximum for leaf in found) for found in counted]
        reached = [cell(mean(points)), cell(mean(maximum))] if any(counted) else ["not assessed", ""]
        rows.append([name, *reached, f"{sum(leaf.maximum for leaf in leaves):g}"])
    return [
        ExtraTable("What was assessed: mean points, of the most it could have", ["", "points", "of", "in all"], rows)
    ]


def _means_by(
    by: Sequence[Factor], dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None], over: str | None
) -> ExtraTable:
    """Tabulate the means of each group (CliniChat, Tables 2 and 3); what was not assessed is empty.

    With ``over``, add the gain in percent over that strategy's dialogues with the same other factor.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, dialogue in enumerate(dialogues):
        groups.setdefault(tuple(getattr(dialogue, name) or f"(no {name})" for name in by), []).append(index)
    columns = [*STATISTICS, *MAINS, TOTAL]
    if any(score is not None and score.unscored for score in scores):
        columns += [ASSESSED, ASSESSABLE]
    means: dict[tuple[str, ...], dict[str, float | None]] = {}
    for group, indices in groups.items():
        found = estimates_of([dialogues[index] for index in indices], [scores[index] for index in indices])
        means[group] = {name: one.mean for name, one in found.items()}
    gains = [name for name in (*_GAINS, ASSESSED) if name in columns] if over is not None else []
    if over is not None and not any(over in group for group in groups):
        raise ConfigurationError(f"--over {over}: no dialogue of that strategy was read")
    rows: list[dict[str, str]] = []
    for group, group_means in sorted(means.items(), key=lambda each: each[0]):
        factors: dict[str, str] = dict(zip(by, group, strict=True))
        base = means.get(tuple((factors | {"strategy": over}).values()), {}) if over is not None else {}
        row = {**factors, "n": str(sum(scores[index] is not None for index in groups[group]))}
        row |= {name: cell(group_means.get(name)) for name in columns}
        for name in gains:  # the difference to the base, in percent of it
            value, base_value = group_means.get(name), base.get(name)
            row[f"{name}, gain"] = "" if value is None or not base_value else f"{100 * (value / base_value - 1):+.1f} %"
        rows.append(row)
    shown = dict.fromkeys(name for row in rows for name, cell_text in row.items() if cell_text)
    header = [name for name in rows[0] if name in shown] if rows else []
    title = f"Means by {' and '.join(by)}, of what was assessed (n: dialogues)"
    return ExtraTable(title, header, [[row[name] for name in header] for row in rows])


def _notes(scores: Sequence[CliniEvalScores | None], failures: Sequence[str]) -> list[str]:
    missing = {key for score in scores if score is not None for key in score.unscored}
    notes = [f"{len(failures)} dialogues have no judgement and are left out."] if failures else []
    if missing:
        notes.append(
            f"{len(missing)} of 34 leaves were not assessed in some or all dialogues; they are missing, not 0, and so "
            "are the sums that they belong to. Rules count words: a baseline, not numbers to publish."
        )
    return [*notes, *failures]
