"""``wardround score clini-eval``: how well the physician of a dialogue interviews, in 100 points."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import anyio
import typer

from cases import Problem
from cases.dialogues import Dialogue, read_dialogues
from scoring.asking import ask_each
from scoring.clini_eval.demonstration import why_not
from scoring.clini_eval.instructor import score_clini_eval
from scoring.clini_eval.points import (
    ASSESSABLE,
    ASSESSED,
    LEAVES,
    MAINS,
    TOTAL,
    CliniEvalScores,
    estimates_of,
)
from scoring.metrics.samples import mean
from wardround.commands.exits import refuse
from wardround.commands.score.output import ExtraTable, Mode, ModeOption, Scores, refuse_records
from wardround.commands.score.transcripts import JudgeOption, asking, cell

DialogueFile = Annotated[
    Path,
    typer.Argument(metavar="DIALOGS", help="Dialogues with their clinical notes, a JSON object a line."),
]


def clini_eval(
    source: DialogueFile,
    judge: JudgeOption = "offline",
    mode: ModeOption = Mode.SOUND,
    by: Annotated[
        Literal["department", "strategy"] | None, typer.Option("--by", help="Also print the means of each.")
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option("--details", metavar="FILE", help="Write each dialogue's points, assessment and summary here."),
    ] = None,
) -> Scores:
    """The 34 numbers of Clini-Eval and their sums (CliniChat, tables 2 to 4).

    Sound: the judge is told the diseases that the file names. Paper: it infers the diagnosis from the note alone.
    Offline, rules count the leaves that can be counted; the others, and with them the sums, are missing.
    """
    settings = asking({"default": judge})
    dialogues = _read(source)

    async def score(place: int) -> CliniEvalScores:
        told = {} if mode is Mode.SOUND else {"diseases": list[str]()}
        return await score_clini_eval(dialogues[place].model_copy(update=told), settings)

    asked = anyio.run(ask_each, range(len(dialogues)), score)
    judged = dict(asked.answers)
    scores = [judged.get(place) for place in range(len(dialogues))]
    failures = [f"Dialogue {dialogues[place].id}: no judgement: {reason}" for place, reason in asked.failures]
    if details is not None:
        _write(details, dialogues, scores)
    metrics = estimates_of(dialogues, scores)
    tables = [*_assessed(scores), *([_by(by, dialogues, scores)] if by else [])]
    notes = _notes(scores, failures)
    return Scores("clini-eval", mode, len(dialogues), metrics, tables, notes, failed=bool(failures))


def _read(source: Path) -> list[Dialogue]:
    """The dialogues; ends the command if a line cannot be used or there is nothing to score in it."""
    dialogues, problems = read_dialogues(source)
    lacking = [(dialogue, why_not(dialogue)) for dialogue in dialogues]
    problems += [Problem(str(source), f"dialogue {one.id}", "", problem) for one, problem in lacking if problem]
    refuse_records(problems)
    return dialogues


def _write(file: Path, dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None]) -> None:
    """One line a dialogue that was judged."""
    lines = [
        json.dumps({"id": dialogue.id, "total": one.total, **one.model_dump(mode="json")}, ensure_ascii=False) + "\n"
        for dialogue, one in zip(dialogues, scores, strict=True)
        if one is not None
    ]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        refuse(f"cannot write {file}: {error.strerror or error}")


def _assessed(scores: Sequence[CliniEvalScores | None]) -> list[ExtraTable]:
    """Where not all was assessed: the points of what was, of the most that it could have, by main metric."""
    known = [score for score in scores if score is not None]
    if not any(score.unscored for score in known):
        return []
    rows = []
    for name, leaves in {**MAINS, "all": tuple(LEAVES.values())}.items():
        counted = [[leaf for leaf in leaves if leaf.key in score.leaves] for score in known]
        points = [sum(score.leaves[leaf.key] for leaf in found) for score, found in zip(known, counted, strict=True)]
        most = [sum(leaf.maximum for leaf in found) for found in counted]
        reached = [cell(mean(points)), cell(mean(most))] if any(counted) else ["not assessed", ""]
        rows.append([name, *reached, f"{sum(leaf.maximum for leaf in leaves):g}"])
    return [
        ExtraTable("What was assessed: mean points, of the most it could have", ["", "points", "of", "in all"], rows)
    ]


def _by(by: str, dialogues: Sequence[Dialogue], scores: Sequence[CliniEvalScores | None]) -> ExtraTable:
    """The means of each department or strategy (CliniChat, tables 2 and 3); what was not assessed stays empty."""
    groups: dict[str, list[int]] = {}
    for place, dialogue in enumerate(dialogues):
        groups.setdefault(getattr(dialogue, by) or f"(no {by})", []).append(place)
    columns = [*MAINS, TOTAL]
    if any(score is not None and score.unscored for score in scores):
        columns += [ASSESSED, ASSESSABLE]
    rows = []
    for group, places in sorted(groups.items()):
        judged = [scores[place] for place in places]
        found = estimates_of([dialogues[place] for place in places], judged)
        n = sum(score is not None for score in judged)
        rows.append([group, str(n), *(cell(found[name].mean) if name in found else "" for name in columns)])
    return ExtraTable(f"Means by {by}", [by, "n", *columns], rows)


def _notes(scores: Sequence[CliniEvalScores | None], failures: Sequence[str]) -> list[str]:
    missing = {key for score in scores if score is not None for key in score.unscored}
    notes = [f"{len(failures)} dialogues have no judgement and are left out."] if failures else []
    if missing:
        notes.append(
            f"{len(missing)} of 34 leaves were not assessed in some or all dialogues; they are missing, not 0, and so "
            "are the sums that they belong to. Rules count words: a baseline, not numbers to publish."
        )
    return [*notes, *failures]
