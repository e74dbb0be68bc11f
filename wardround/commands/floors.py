"""``wardround floors``: compute floor and ceiling scores for a set of cases."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import JsonNumbers
from wardround.printing import echo


def floors(
    source: Annotated[
        str, Argument(metavar="RUN_OR_CASES", help="Run directory, case file, or 'builtin'.")
    ] = "builtin",
    suite: Annotated[
        str | None,
        Option(metavar="NAME", help="Suite that scores the cases.", show_default="medchain, or the run's own"),
    ] = None,
    split: Annotated[
        str | None,
        Option(help="Use only cases of this split.", show_default="test for the built-in cases, otherwise all"),
    ] = None,
    json_file: JsonNumbers = None,
) -> None:
    """Compute floor and ceiling scores for a set of cases.

    The scores are those of a constant answer, shuffled answer keys, an oracle, and the offline baseline. The first
    three are made from the answer keys (the constant answer from those of split `train`); the baseline is run. Suites
    that score dialogues, which no key contains, use the baseline's dialogues instead. All judging is by rules. For a
    run, the scores are saved in its directory, and appear in its tables and its report.
    """
    import tempfile

    from scoring.suite import SUITES
    from wardround.analysis.floors import (
        FILE,
        OFFLINE,
        experiment_for,
        floors_from_dialogues,
        floors_from_keys,
        write_floors,
    )
    from wardround.config.selection import select_cases
    from wardround.run.from_python import run_experiment
    from wardround.store.recorded_run import find_run
    from wardround.tables.scores import failed_notes, floors_table
    from wardround.tables.terminal import print_table

    run = find_run(Path(source)) if Path(source).is_dir() else None
    if run is not None and (suite or split):
        refuse(f"{source}: a run has its own suite and split; leave out --suite and --split")
    experiment = run.experiment if run is not None else experiment_for(source, suite, split)
    cases = list(run.cases.values()) if run is not None else select_cases(experiment.data)
    found = floors_from_keys(experiment, cases)
    offline = experiment.model_copy(update={"models": {"default": "offline"}, "judges": {}, "model": {}})
    with tempfile.TemporaryDirectory() as folder:
        run_experiment(offline, Path(folder, OFFLINE))
        baseline = find_run(Path(folder, OFFLINE))
        found |= floors_from_dialogues(experiment, cases, baseline)
        found[OFFLINE], failed = baseline.estimates, failed_notes([baseline])
    print_table(floors_table(found, SUITES[experiment.scored_by]))
    for note in failed:
        echo(note)
    for file in (json_file, run.path / FILE if run is not None else None):  # which may be in a read-only folder
        if file is not None:
            write_floors(file, found)
    if run is not None:
        echo(f"Saved in {run.path}; its tables and its report show these scores.")
