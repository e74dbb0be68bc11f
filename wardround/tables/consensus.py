"""How soon the doctors of a discussion agree (AI Hospital, section 6.2 and Figure 4)."""

from collections.abc import Iterable, Mapping, Sequence

from scoring.mvme.consensus import Discussion, End, share_in_consensus, share_of_end
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.figures import draw_consensus
from wardround.tables.table import Column, Table, measured

NO_DISCUSSION = "no case had a discussion (graph dispute_resolution with two interns or more)"
_ENDS: Mapping[str, End] = {"agreed": "agreed", "rounds_used_up": "gave_up"}


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the share of cases in consensus after each round; agreement and giving up are counted separately.

    The paper counts the cases that ended after a round, and mixes both ends at the last one.
    """
    discussions_by_run = [(run, discussions_of(run.scored)) for run in runs]
    discussed = [run for run, found in discussions_by_run if found]
    if not discussed:
        return []
    limit = max(run.experiment.context.max_rounds for run in discussed)
    columns = [
        Column("run", "Run", key=True),
        *(Column(f"after_{number}", str(number), "After round", ".3f", mean=True) for number in range(limit + 1)),
        Column("agreed", "Agreed", "In the end", ".3f", mean=True),
        Column("gave_up", "Gave up", "In the end", ".3f", mean=True),
        Column("discussed", "With discussion", "Cases"),
        Column("without", "Without", "Cases"),
    ]
    rows = [
        {
            "run": run.name,
            **measured({f"after_{number}": share_in_consensus(found, number) for number in range(limit + 1)}),
            **measured({"agreed": share_of_end(found, "agreed"), "gave_up": share_of_end(found, "gave_up")}),
            "discussed": len(found),
            "without": len(run.scored) - len(found),
        }
        for run, found in discussions_by_run
    ]
    notes = [
        "After round: share of the cases with a discussion that had reached consensus by then; 0 is before any "
        "discussion.",
        "Cases without a discussion (only one doctor, or stopped before it) are left out of the shares.",
    ]
    caption = "Share of cases in consensus after each round of discussion."
    pictures = {"consensus": draw_consensus}
    return [Table("consensus", "Consensus by round", columns, rows, notes, caption, pictures=pictures)]


def discussions_of(results: Iterable[Result]) -> list[Discussion]:
    """Return the finished discussions; a case with one doctor has none, nor one that never reached it."""
    return [
        Discussion(result.rounds["discussion"], _ENDS[end])
        for result in results
        if (end := result.stages.get("discussion", "")) in _ENDS
    ]
