"""``wardround judges``: how far the judges of runs can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.options import CsvFolder, JsonFile, Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wardround.rating.judges import Judgements, Marks
    from wardround.store.recorded_run import RecordedRun


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

    from wardround.rating.judges import judged, tables_of
    from wardround.store.recorded_run import find_runs
    from wardround.tables.terminal import tell

    found = find_runs(runs)
    judgements = anyio.run(judged, found, judge or [])
    people = _from_csv(human, judgements, len(found) > 1) if human else _from_marks(found, marks)
    tell(tables_of(judgements, people), csv, json_file)


def _from_marks(runs: "Sequence[RecordedRun]", file: Path | None) -> "Marks":
    """What people judged on the scale of the runs' suite."""
    from typing import get_args

    from wardround.config.experiment import ConfigurationError
    from wardround.rating.agreement import people_of, votes_of
    from wardround.rating.marks import FILE, read_marks
    from wardround.rating.scales import Name

    if file and not file.exists():
        raise ConfigurationError(f"--marks {file}: there is no such file; `wardround rate` writes it")
    scale = next((name for name in get_args(Name) if name == runs[0].suite.name), None)
    return people_of(scale, votes_of(runs, scale, read_marks(file or runs[0].path / FILE))) if scale else {}


def _from_csv(file: Path, found: "Judgements", several: bool) -> "Marks":
    """People's scores by the names of the scores, of each epoch of a case the same."""
    from scoring.metrics.comparison import read_human_scores
    from wardround.config.experiment import ConfigurationError

    scores, problems = read_human_scores(file)
    if problems:
        raise ConfigurationError("; ".join(map(str, problems)))
    if unknown := sorted(scores.keys() - found.titles.keys()):
        raise ConfigurationError(f"{file}: {unknown[0]} is no judged score; known are {', '.join(found.titles)}")
    by_case = {one.key: f"{one.key[0]}/{one.key[2]}" if several else one.key[2] for one in found.answers}
    if not any(case in given for case in by_case.values() for given in scores.values()):
        raise ConfigurationError(f"{file}: none of its cases is in the runs; theirs are {', '.join(by_case.values())}")
    return {
        name: {key: given[case] for key, case in by_case.items() if case in given} for name, given in scores.items()
    }
