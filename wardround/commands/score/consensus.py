"""``wardround score consensus``: how soon doctors agree."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.score.output import (
    ExtraTable,
    JsonOption,
    Mode,
    ModeOption,
    Scores,
    refuse,
    refuse_records,
    show,
)

if TYPE_CHECKING:
    from scoring.mvme.consensus import Discussion


def consensus(
    source: Annotated[
        Path,
        typer.Argument(metavar="SRC", help="Collaborations of AI Hospital, or a run directory.", show_default=False),
    ],
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0, help="The rounds that a discussion could have at most.", show_default="4, or what the run allowed"
        ),
    ] = None,
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
) -> None:
    """The round in which discussions ended, and whether in agreement (AI Hospital, figure 4).

    Sound: the share of cases in consensus after each round, with those that gave up, or may have, apart. Paper: the
    share that ended after each round; the last one mixes both.
    """
    from scoring.mvme.consensus import ENDS, ROUNDS, ended_at, share_ended_at, share_in_consensus, share_of_end

    notes: list[str] = []
    if source.is_dir():
        found, allowed, without = _of_run(source)
        rounds = allowed if rounds is None else rounds
        if found and (most := max(one.rounds for one in found)) > rounds:
            refuse(f"--rounds {rounds}: a discussion of {source} had {most}")
        if without:
            notes.append(
                f"{without} cases had no discussion (one doctor alone, or stopped before it) and are left out."
            )
    else:
        rounds = ROUNDS if rounds is None else rounds
        found = _of_file(source, rounds)
    numbers = range(rounds + 1)
    metrics = {f"ended_after_{number}": share_ended_at(found, number) for number in numbers}
    if mode is Mode.SOUND:
        metrics |= {f"consensus_after_{number}": share_in_consensus(found, number) for number in numbers}
        metrics |= {end: share_of_end(found, end) for end in ENDS}
    agreed = {number: sum(one.end == "agreed" and one.rounds == number for one in found) for number in numbers}
    rows = [[str(number), str(count), str(agreed[number])] for number, count in ended_at(found, rounds).items()]
    unknown = sum(one.end == "unknown" for one in found)
    least = sum(one.end == "agreed" for one in found) / max(1, len(found))
    note = (
        f"{unknown} cases used up all {rounds} rounds, and their records do not say whether they agreed in the last: "
        f"between {least:.1%} and {least + unknown / max(1, len(found)):.1%} of all cases agreed in the end."
    )
    show(
        Scores(
            suite="consensus",
            mode=mode,
            n=len(found),
            metrics=metrics,
            tables=[ExtraTable("Cases by the round in which they ended", ["round", "ended", "surely agreed"], rows)],
            notes=[*notes, note] if unknown else notes,
        ),
        json_file,
    )


def _of_file(source: Path, rounds: int) -> "list[Discussion]":
    """The discussions of a file of collaborations."""
    from cases import Problem
    from scoring.mvme.consensus import discussion
    from scoring.mvme.transcripts import read_collaborations

    reading = read_collaborations(source)
    refuse_records(reading.errors)
    found: list[Discussion] = []
    problems: list[Problem] = []
    for record in reading.records:
        try:
            found.append(discussion(record, rounds))
        except ValueError as error:
            problems.append(Problem(str(source), f"patient {record.patient_id}", "final_turn", str(error)))
    refuse_records(problems)
    return found


def _of_run(directory: Path) -> "tuple[list[Discussion], int, int]":
    """The discussions of a run of ours, the rounds that it allowed, and its scored cases without a discussion."""
    from wardround.analysis.discussions import discussions_of
    from wardround.commands.score.recorded import open_recorded

    run = open_recorded(directory)
    found, without = discussions_of(run.scored)
    return found, run.experiment.context.max_rounds, without
