"""``wardround judges``: how far the judges of runs can be trusted."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.options import CsvFolder, JsonFile, Runs


def judges(
    runs: Runs,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="A model that judges the answers again, or 'offline'; repeatable."),
    ] = None,
    marks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What people judged (`wardround rate`).", show_default="ratings.jsonl of the first run"
        ),
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="People's scores from elsewhere: column 'case' (RUN/CASE of several runs), then scores."
        ),
    ] = None,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Hold judges beside people and beside each other.

    Every judged score of the runs: its mean by judge, the rank correlation with people's marks and with length, the
    judges' agreement, and what a judge gives to doctors of its own family. No doctor is asked again. Position is told
    by `wardround score aie-pairwise`, which asks each pair in both orders.
    """
    import anyio

    from wardround.rating.judges import judged, marks_of, scores_of, tables_of
    from wardround.store.recorded_run import find_runs
    from wardround.tables.terminal import tell

    found = find_runs(runs)
    judgements = anyio.run(judged, found, judge or [])
    people = scores_of(human, judgements, several=len(found) > 1) if human else marks_of(found, marks)
    tell(tables_of(judgements, people), csv, json_file)
