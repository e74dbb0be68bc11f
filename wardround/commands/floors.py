"""``wardround floors``: what the scores of a set of cases are worth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.options import JsonScores
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment


def floors(
    source: Annotated[
        str, typer.Argument(metavar="RUN_OR_CASES", help="A run directory, a file of cases, or `builtin`.")
    ] = "builtin",
    suite: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the cases are scored by.", show_default="medchain, or the run's own"),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Only cases of this split.", show_default="test of the built-in cases, else all")
    ] = None,
    json_file: JsonScores = None,
) -> None:
    """What silence, a constant answer and an oracle would score.

    Floor and ceiling of a set of cases: constant answer, shuffled keys, oracle, and the offline baseline.
    The first three are made from the answer keys, the constant answer from split `train`; the baseline is run. Of a
    dialogue, which no key tells, they are made from the baseline's. All are judged by rules. Of a run, they are kept in
    its directory: its tables and its report show them.
    """
    import tempfile

    from scoring.suite import SUITES
    from wardround.analysis.floors import FILE, OFFLINE, floors_from_dialogues, floors_from_keys, write_floors
    from wardround.config.experiment import ConfigurationError
    from wardround.config.selection import select_cases
    from wardround.run.from_python import run_experiment
    from wardround.store.manifest import is_run
    from wardround.store.recorded_run import find_run, open_run
    from wardround.tables.scores import floors_table
    from wardround.tables.terminal import print_table

    run = find_run(Path(source)) if is_run(Path(source)) else None
    if run is not None and (suite or split):
        raise ConfigurationError(f"{source}: a run has a suite and a split; leave --suite and --split out")
    experiment = run.experiment if run is not None else _experiment(source, suite, split)
    cases = list(run.cases.values()) if run is not None else select_cases(experiment.data)
    found = floors_from_keys(experiment, cases)
    offline = experiment.model_copy(update={"models": {"default": "offline"}, "judges": {}, "model": {}})
    with tempfile.TemporaryDirectory() as folder:
        run_experiment(offline, Path(folder, "run"))
        baseline = open_run(Path(folder, "run"))
        found |= floors_from_dialogues(experiment, cases, baseline)
        found[OFFLINE] = baseline.estimates
    for file in (json_file, run.path / FILE if run is not None else None):
        if file is not None:
            write_floors(file, found)
    print_table(floors_table(found, SUITES[experiment.scored_by]))
    if run is not None:
        echo(f"Kept in {run.path}: its tables and its report show them.")


def _experiment(cases: str, suite: str | None, split: str | None) -> "Experiment":
    """What would be run of a file of cases, to be scored by a suite."""
    from typing import Any, get_args

    from nodes.patients.systems import PATIENTS
    from scoring.suite import SUITES
    from wardround.config.experiment import GraphName, suites_of
    from wardround.config.experiment_file import check_experiment

    graph = next((name for name in get_args(GraphName) if suite in (None, *suites_of(name))), "clinical_workflow")
    data = {"cases": cases, **({"split": split} if split else {})}
    content: dict[str, Any] = {"graph": graph, "data": data, **({"suite": suite} if suite else {})}
    # Actions are counted only with a patient that tracks them.
    if suite is not None and suite in SUITES and "actions" in SUITES[suite].needs:
        content["workflow"] = {"patient": next(system.name for system in PATIENTS.values() if system.tracks)}
    return check_experiment(content)
