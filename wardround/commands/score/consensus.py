"""``wardround score consensus``: how discussions end (AI Hospital, figure 4)."""

from collections import Counter
from pathlib import Path
from typing import Annotated, get_args

from typer import Argument, Option

from cases import Problem
from scoring.metrics.samples import of_epoch
from scoring.mvme.consensus import (
    ROUNDS,
    Discussion,
    End,
    discussion,
    ended_at,
    share_ended_at,
    share_in_consensus,
    share_of_end,
)
from scoring.mvme.transcripts import read_collaborations
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, refuse_records
from wardround.commands.score.transcripts import counts, read_files
from wardround.printing import counted
from wardround.store.recorded_run import find_run
from wardround.tables.ai_hospital import NO_DISCUSSION, discussions_of
from wardround.tables.scores import failed_notes


def consensus(
    source: Annotated[Path, Argument(metavar="SRC", help="Collaboration file of AI Hospital, or run directory.")],
    rounds: Annotated[
        int | None,
        Option(min=0, help="Maximum number of rounds of a discussion.", show_default="4, or the limit of the run"),
    ] = None,
    mode: ModeOption = "sound",
) -> Scores:
    """Measure how discussions end (AI Hospital, figure 4).

    Sound mode gives the share of cases in consensus after each round, and separately the shares that gave up or may
    have given up. Paper mode gives the share that ended after each round; in the last round, it mixes consensus with
    giving up.
    """
    notes: list[str] = []
    if source.is_dir():
        run = find_run(source)
        notes = failed_notes([run])
        found = discussions_of(run.scored)
        if not found:
            refuse(f"{source}: {NO_DISCUSSION}")
        rounds = run.experiment.context.max_rounds if rounds is None else rounds
        if (highest := max(one.rounds for one in found)) > rounds:
            refuse(f"--rounds {rounds}: a discussion of {source} had {highest} rounds; give at least {highest}")
        if no_discussion := len(run.scored) - len(found):
            notes.append(
                f"Left out: {counted(no_discussion, 'case')} without a discussion (single doctor, or stopped before)."
            )
    else:
        rounds = ROUNDS if rounds is None else rounds
        found = _discussions_in(source, rounds)
    numbers = range(rounds + 1)
    metrics = {f"ended_after_{number}": share_ended_at(found, number) for number in numbers}
    if mode == "sound":
        metrics |= {f"consensus_after_{number}": share_in_consensus(found, number) for number in numbers}
        metrics |= {end: share_of_end(found, end) for end in get_args(End)}
    agreed = Counter(one.rounds for one in found if one.end == "agreed")
    rows = [[str(number), str(count), str(agreed[number])] for number, count in ended_at(found, rounds).items()]
    unknown = sum(one.end == "unknown" for one in found)
    least = agreed.total() / max(1, len(found))
    note = (
        f"{unknown} cases used all {rounds} rounds, and their records do not say whether the last ended in agreement. "
        f"Between {least:.1%} and {least + unknown / max(1, len(found)):.1%} of all cases therefore ended in agreement."
    )
    table = ExtraTable("Cases by the round in which they ended", ["round", "ended", "known to agree"], rows)
    n, more = counts([of_epoch(one.case or str(place), 0) for place, one in enumerate(found)], "discussion")
    return Scores("consensus", mode, n, metrics, [table], [*notes, note] if unknown else notes, more=more)


def _discussions_in(source: Path, rounds: int) -> list[Discussion]:
    """Read the discussions in a file of collaborations."""
    found: list[Discussion] = []
    problems: list[Problem] = []
    for record in read_files(read_collaborations, [source])[0]:
        try:
            found.append(discussion(record, rounds))
        except ValueError as error:
            problems.append(Problem(str(source), f"patient {record.patient_id}", "final_turn", str(error)))
    refuse_records(problems)
    return found
