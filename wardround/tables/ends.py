"""How cases, stages, dialogues and discussions ended, and after how many rounds."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scoring.metrics.statistics import estimate
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.scores import unfinished_notes
from wardround.tables.table import Cell, Column, DoesNotFitError, Measured, Table


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Each part of the course with its ends, their shares and the mean number of rounds.

    Raises:
        DoesNotFitError: no case has ended.
    """
    rows = [[run.name, *row] for run in runs for row in _ends(run.results)]
    if not rows:
        raise DoesNotFitError("no case has ended yet")
    columns = [
        Column("run", "Run", key=True),
        Column("part", "Part", key=True),
        Column("end", "Ended", key=True),
        Column("cases", "Cases"),
        Column("share", "Share", digits=3, measured=True),
        Column("rounds", "Rounds", measured=True),
    ]
    notes = [
        "Rounds: decisions of a stage, turns of a dialogue, revisions of a discussion.",
        *unfinished_notes(runs),
    ]
    caption = "How cases and their parts ended, and after how many rounds."
    return [Table("ends", "Ends and rounds", columns, rows, notes, caption)]


def _ends(results: Sequence[Result]) -> Iterator[list[Cell]]:
    """The rows of a run: of its cases, then of every part of them."""
    cases = [result.case_id for result in results]
    for end, count in _counted(result.termination for result in results):
        share = estimate((float(result.termination == end) for result in results), cases)
        yield ["case", end, count, Measured(share), None]
    for part in dict.fromkeys(part.split(":")[0] for result in results for part in result.stages):
        ended = [
            (end, result.rounds.get(name), result.case_id)
            for result in results
            for name, end in result.stages.items()
            if name.split(":")[0] == part
        ]
        of_cases = [case for _, _, case in ended]
        for end, count in _counted(end for end, _, _ in ended):
            share = estimate((float(one == end) for one, _, _ in ended), of_cases)
            taken = [(float(rounds), case) for one, rounds, case in ended if one == end and rounds is not None]
            rounds = estimate((value for value, _ in taken), (case for _, case in taken))
            yield [part.replace("_", " "), end.replace("_", " "), count, Measured(share), Measured(rounds)]


def _counted(ends: Iterator[str]) -> list[tuple[str, int]]:
    return sorted(Counter(ends).items(), key=lambda item: (-item[1], item[0]))
